import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { suiteDir } from '../../../support/temp-dir.ts'
import { openTerminal } from '../../../support/workspace/client/terminal-client.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'
import { systemClock } from '../../../../src/lib/clock/clock.ts'

const MEGABYTE = 2 ** 20

describe('a terminal in a container', () => {
  const name = uniqueName('web-terminal')
  let server: TestServer
  const url = (query = '') => `${server.url}/api/workspaces/${name}/terminal${query}`
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
    await makeWorkspace(server.url, { name })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  test('a login shell has the requested size, reads input and reports its exit status', async () => {
    const terminal = await openTerminal(url('?columns=101&rows=33'))
    terminal.type('stty size; echo "[$TERM]" $((20+22))\r')
    await terminal.shows('33 101')
    await terminal.shows('[xterm-256color] 42')
    terminal.type('exit 7\r')
    expect(await terminal.closed).toMatchObject({ code: 1000 })
    expect(terminal.controls).toEqual([{ type: 'ended', exit_status: 7 }])
  })

  test('a resize reaches the program', async () => {
    const terminal = await openTerminal(url())
    terminal.type('trap "stty size" WINCH; echo rea""dy\r')
    await terminal.shows('ready')
    terminal.say({ type: 'resize', columns: 132, rows: 50 })
    await expect.poll(terminal.screen).toContain('50 132')
  })

  test('a tmux session is created, and reattached with its content after the connection breaks', async () => {
    const first = await openTerminal(url('?session=work'))
    first.type('echo remem""bered\r')
    await first.shows('remembered')
    first.socket.terminate()
    const again = await openTerminal(url('?session=work'))
    await again.shows('remembered')
    const { body } = await server.api(`workspaces/${name}/sessions`)
    expect(body.sessions).toMatchObject([{ name: 'work', attached: true }])
  })

  test.each(['#(touch /tmp/expanded)', '=$0', 'a:0', '-x', '', 'pro*', 'x'.repeat(65)])(
    'W6 a session named %j is refused and runs nothing',
    async (session) => {
      const refused = openTerminal(url(`?session=${encodeURIComponent(session)}`))
      await expect(refused).rejects.toThrow(/^400 .*INVALID_REQUEST/)
      const looking = await openTerminal(url())
      looking.type('ls /tmp/expanded; echo loo""ked\r')
      await looking.shows('looked')
      expect(looking.screen()).toContain('No such file')
    },
  )

  test(
    'a program that prints 100 MB waits for a slow reader, and nothing is lost',
    { tags: ['long'] },
    async () => {
      const size = 100 * MEGABYTE
      let pending = 0
      let mostPending = 0
      const digest = createHash('sha256')
      const terminal = await openTerminal(url(), {
        takes: false,
        onData(data) {
          digest.update(data)
          pending += data.length
          mostPending = Math.max(mostPending, pending)
        },
      })
      const take = setInterval(() => {
        if (pending > 0) terminal.say({ type: 'taken', bytes: pending })
        pending = 0
      }, 5)
      const before = process.memoryUsage.rss()
      let mostMemory = before
      const watch = setInterval(() => (mostMemory = Math.max(mostMemory, process.memoryUsage.rss())), 50)
      // Raw mode, so that output arrives unchanged; exec, so that nothing is printed after it.
      terminal.type('PS1=; stty raw -echo; clear\r')
      const started = terminal.receivedBytes()
      terminal.type(`exec head -c ${size} /dev/zero\n`)
      expect((await terminal.closed).code).toBe(1000)
      clearInterval(take)
      clearInterval(watch)
      expect(terminal.receivedBytes() - started).toBeGreaterThanOrEqual(size)
      expect(terminal.receivedBytes() - started).toBeLessThan(size + 10_000)
      expect(mostPending).toBeLessThan(2 * MEGABYTE)
      expect(mostMemory - before).toBeLessThan(150 * MEGABYTE)
    },
  )

  test('a page that acknowledges nothing is sent no more than the limit', async () => {
    const terminal = await openTerminal(url(), { takes: false, onData: () => undefined })
    terminal.type('exec yes\r')
    await waitFor('the bound', () => terminal.receivedBytes() > MEGABYTE)
    const received = terminal.receivedBytes()
    // Its program is blocked: no more bytes arrive while another terminal works.
    const other = await openTerminal(url())
    other.type('for i in 1 2 3; do sleep 0.2; done; echo do""ne\r')
    await other.shows('done')
    expect(terminal.receivedBytes() - received).toBeLessThan(MEGABYTE / 4)
    terminal.say({ type: 'taken', bytes: received })
    await waitFor('more of it', () => terminal.receivedBytes() > 2 * MEGABYTE - 100_000)
  })

  test('its program is terminated when the page disconnects', async () => {
    const terminal = await openTerminal(url())
    terminal.type('exec sleep 98765\r')
    const count = async (): Promise<number> => {
      const looking = await openTerminal(url())
      looking.type('pgrep -c -f "sleep 9876[5]"; exit\r')
      await looking.closed
      return Number(/^(\d+)\r$/m.exec(looking.screen())?.[1])
    }
    await waitFor('the program', async () => (await count()) === 1)
    terminal.socket.terminate()
    await expect.poll(count).toBe(0)
  })

  test.each([
    ['no JSON', '{'],
    ['an unknown type', '{"type":"sing"}'],
    ['a size of nothing', '{"type":"resize","columns":0,"rows":10}'],
    ['more taken than was sent', '{"type":"taken","bytes":1000000000}'],
    ['less than nothing taken', '{"type":"taken","bytes":-1}'],
    ['no object', 'null'],
  ])('%s closes it with 4002', async (_what, text) => {
    const terminal = await openTerminal(url())
    terminal.socket.send(text)
    expect((await terminal.closed).code).toBe(4002)
  })

  test('a message larger than 1 MiB closes it', async () => {
    const terminal = await openTerminal(url())
    terminal.socket.send(Buffer.alloc(MEGABYTE + 1))
    expect((await terminal.closed).code).toBe(1009)
  })

  test('the 33rd terminal of a workspace is refused until one is closed', { tags: ['long'] }, async () => {
    const open = await Promise.all(Array.from({ length: 32 }, () => openTerminal(url())))
    await expect(openTerminal(url())).rejects.toThrow(/^503 .*TOO_MANY_TERMINALS/)
    open[0]?.socket.terminate()
    await waitFor('a free slot', () =>
      openTerminal(url()).then(
        () => true,
        () => false,
      ),
    )
  })

  test('stopping the workspace closes it with 4001', async () => {
    const terminal = await openTerminal(url())
    await server.api(`workspaces/${name}/stop`, 'POST')
    expect((await terminal.closed).code).toBe(4001)
    await expect(openTerminal(url())).rejects.toThrow(/^409 .*WORKSPACE_NOT_RUNNING/)
    await server.api(`workspaces/${name}/start`, 'POST')
  })
})

describe('before the upgrade', () => {
  const name = uniqueName('web-guards')
  const folder = suiteDir()
  const headers = { authorization: 'Bearer canary-token' }
  let server: TestServer
  const url = (query = '', workspace = name) => `${server.url}/api/workspaces/${workspace}/terminal${query}`
  const issue = async (body: unknown, workspace = name) =>
    server.api(`workspaces/${workspace}/passes`, 'POST', body, headers)
  let nowMs = Date.now()
  beforeAll(async () => {
    const tokenFile = join(folder.path, 'token')
    writeFileSync(tokenFile, 'canary-token')
    server = await startWorkspaceServer({
      backends: () => [dockerBackend()],
      settings: { http: { token_file: tokenFile } },
      clock: { ...systemClock, wallMs: () => nowMs },
    })
    await server.create({ name }, headers)
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE', undefined, headers)
    await server.stop()
  })

  test('the token opens it, and a ticket opens it once', async () => {
    await openTerminal(url(), { headers })
    const { status, body } = await issue({ for: 'terminal' })
    expect(status).toBe(201)
    expect(Date.parse(body.expires_at)).toBe(nowMs + 30_000)
    await openTerminal(url(`?pass=${body.pass}`))
    await expect(openTerminal(url(`?pass=${body.pass}`))).rejects.toThrow(/^401 .*UNAUTHORIZED/)
  })

  test('a missing, wrong, expired or port ticket is refused', async () => {
    await expect(openTerminal(url())).rejects.toThrow(/^401/)
    await expect(openTerminal(url('?pass=guess'))).rejects.toThrow(/^401/)
    const port = await issue({ for: 'port', port: 3000 })
    await expect(openTerminal(url(`?pass=${port.body.pass}`))).rejects.toThrow(/^401/)
    const old = await issue({ for: 'terminal' })
    nowMs += 30_001
    await expect(openTerminal(url(`?pass=${old.body.pass}`))).rejects.toThrow(/^401/)
  })

  test('a ticket requires the token, an existing workspace and a known purpose', async () => {
    const bare = await server.api(`workspaces/${name}/passes`, 'POST', { for: 'terminal' })
    expect(bare.status).toBe(401)
    expect((await issue({ for: 'terminal' }, 'nobody')).body.error.code).toBe('WORKSPACE_NOT_FOUND')
    for (const body of [{}, { for: 'all' }, { for: 'port' }, { for: 'port', port: 0 }])
      expect((await issue(body)).body.error.code).toBe('INVALID_REQUEST')
  })

  test('H3 a page of another origin is refused, even with a valid ticket', async () => {
    const { pass } = (await issue({ for: 'terminal' })).body
    const origins = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: server.url },
    ]
    for (const foreign of origins)
      await expect(openTerminal(url(`?pass=${pass}`), { headers: foreign })).rejects.toThrow(
        /^403 .*FORBIDDEN_ORIGIN/,
      )
    await expect(openTerminal(url(), { headers: { ...headers, host: 'evil.example' } })).rejects.toThrow(
      /^403 .*FORBIDDEN_HOST/,
    )
    await openTerminal(url(`?pass=${pass}`), { headers: { origin: server.url } })
  })

  test('an invalid workspace, size or path is refused in JSON', async () => {
    await expect(openTerminal(url('', 'nobody'), { headers })).rejects.toThrow(/^404 .*WORKSPACE_NOT_FOUND/)
    await expect(openTerminal(url('', '-rf'), { headers })).rejects.toThrow(/^400 .*INVALID_WORKSPACE_NAME/)
    await expect(openTerminal(url('?columns=0'), { headers })).rejects.toThrow(/^400 .*columns/)
    await expect(openTerminal(`${server.url}/api/info`, { headers })).rejects.toThrow(
      /^400 .*INVALID_REQUEST/,
    )
    expect(await call(url(), 'GET', undefined, headers)).toMatchObject({ status: 426 })
  })
})
