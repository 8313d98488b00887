import { describe, expect, test } from 'vitest'
import { canStartPrograms } from '../../../src/native/programs/programs.ts'
import { readEventStream } from '../../support/http/event-stream.ts'
import { startSupervisor, type TestSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

const ECHO = 'while read -r line; do echo "<$line>"; done'

/** Watches the terminal of a process. */
async function view({ url }: TestSupervisor, name = 'repl') {
  const { events, response } = await readEventStream(`${url}/api/v1/processes/${name}/terminal`)
  const output = (): string =>
    events
      .filter(({ event }) => event === undefined)
      .map(({ data }) => Buffer.from(data.data, 'base64').toString())
      .join('')
  const lost = (): number =>
    events.filter(({ event }) => event === 'lost').reduce((sum, { data }) => sum + data.bytes, 0)
  return {
    status: response.status,
    output,
    lost,
    states: () => events.filter(({ event }) => event === 'state').map(({ data }) => data),
    until: (text: string) => waitFor(`"${text}" in the output`, () => output().includes(text)),
  }
}

async function send({ url }: TestSupervisor, body: object, name = 'repl') {
  const response = await fetch(`${url}/api/v1/processes/${name}/terminal`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as any }
}

const typed = (text: string) => ({ input: Buffer.from(text).toString('base64') })

describe.runIf(canStartPrograms())('the terminal of a process', () => {
  test('is a terminal that several viewers read and type into, and its lines are logged', async () => {
    const supervisor = await startSupervisor({
      repl: { cmd: `test -t 0 && test -t 1 && test -t 2 && echo "a terminal, $TERM"; ${ECHO}`, tty: true },
    })
    const one = await view(supervisor)
    await one.until('a terminal, xterm-256color')
    await send(supervisor, typed('first\n'))
    await one.until('<first>\r\n')
    // A later viewer gets what was printed before.
    const two = await view(supervisor)
    await two.until('<first>\r\n')
    await send(supervisor, typed('second\n'))
    await Promise.all([one.until('<second>'), two.until('<second>')])
    await waitFor(
      'the log',
      async () => (await supervisor.ask('/logs?pattern=second')).body.filtered_count > 1,
    )
    const { logs } = (await supervisor.ask('/logs?process=repl')).body
    expect(logs.map(({ line }: any) => line)).toContain('<second>')
    expect((await supervisor.ask('/processes/repl')).body.tty).toBe(true)
  })

  test('is the controlling terminal: Ctrl-C interrupts, and a new size is signaled', async () => {
    const supervisor = await startSupervisor({
      repl: {
        cmd: 'trap "echo interrupted" INT; trap "stty size" WINCH; echo ready; while :; do sleep 0.01; done',
        tty: true,
      },
    })
    const viewer = await view(supervisor)
    await viewer.until('ready')
    await send(supervisor, typed('\u0003'))
    await viewer.until('interrupted')
    expect(await send(supervisor, { size: { columns: 132, rows: 43 } })).toMatchObject({ status: 200 })
    await viewer.until('43 132')
  })

  test('keeps viewers and the size over a restart, and reports states', async () => {
    const cmd = "until stty size | grep '33 99'; do sleep 0.05; done; exec cat"
    const supervisor = await startSupervisor({ repl: { cmd, tty: true } })
    const viewer = await view(supervisor)
    await send(supervisor, { size: { columns: 99, rows: 33 } })
    await viewer.until('33 99')
    await supervisor.ask('/processes/repl/restart', 'POST')
    await waitFor('the second run', () => viewer.output().split('33 99').length > 2)
    await supervisor.ask('/processes/repl/stop', 'POST')
    await waitFor('the last state', () => viewer.states().at(-1)?.over === true)
    expect(viewer.states().map(({ status, over }) => `${status} ${over}`)).toEqual([
      'running false',
      'stopping false',
      'running false',
      'stopping false',
      'stopped true',
    ])
    expect(await send(supervisor, typed('x'))).toMatchObject({
      status: 409,
      body: { code: 'PROCESS_NOT_RUNNING' },
    })
  })

  test('keeps a bounded part of the output for later viewers, beginning with a whole line', async () => {
    const supervisor = await startSupervisor({
      repl: { cmd: 'seq 100000 199999; echo end; exec cat', tty: true },
    })
    const first = await view(supervisor)
    await first.until('end')
    const viewer = await view(supervisor)
    await viewer.until('end')
    const output = viewer.output()
    expect(output.length).toBeLessThanOrEqual(131_072)
    expect(output.length).toBeGreaterThan(50_000)
    expect(output).toMatch(/^\d{6}\r\n/)
  })

  test('refuses input that is invalid, or that the program does not read', async () => {
    const supervisor = await startSupervisor({
      repl: { cmd: 'stty raw -echo; echo ready; exec sleep 1000', tty: true },
      plain: { cmd: 'exec sleep 1000' },
    })
    const viewer = await view(supervisor)
    await viewer.until('ready')
    for (const body of [
      { input: 'no base64!' },
      { input: 'QQ' },
      { input: 'A'.repeat(65_540) },
      { size: { columns: 80 } },
      { size: { columns: 0, rows: 1 } },
      { size: { columns: 80, rows: 1_001 } },
      { other: 1 },
    ])
      expect((await send(supervisor, body)).body, JSON.stringify(body).slice(0, 40)).toMatchObject({
        code: 'INVALID_REQUEST',
      })
    expect(await send(supervisor, typed('x'), 'plain')).toMatchObject({
      status: 409,
      body: { code: 'NO_TERMINAL', error: expect.stringContaining('set tty to true') },
    })
    expect((await view(supervisor, 'plain')).status).toBe(409)
    expect((await send(supervisor, typed('x'), 'nobody')).status).toBe(404)
    let refused: any
    for (let i = 0; i < 100 && refused === undefined; i++) {
      const { status, body } = await send(supervisor, typed('y'.repeat(30_000)))
      if (status !== 200) refused = body
    }
    expect(refused).toMatchObject({ code: 'INPUT_NOT_READ' })
  })

  test.runIf(process.getuid?.() === 0)('belongs to the user of the process', async () => {
    const supervisor = await startSupervisor({
      repl: { cmd: 'id -un; echo reopened > "$(tty)"; exec cat', cwd: '/', tty: true, user: 'nobody' },
    })
    const viewer = await view(supervisor)
    await viewer.until('reopened')
    expect(viewer.output()).toContain('nobody')
  })

  test('does not delay the stop, and a program that cannot be started leaves none open', async () => {
    const supervisor = await startSupervisor({
      repl: { cmd: 'exec cat', tty: true },
      bad: { cmd: ['/does/not/exist'], tty: true, restart: 'never' },
    })
    const viewer = await view(supervisor)
    expect((await supervisor.ask('/processes/repl/stop', 'POST')).body).toEqual({ success: true })
    await waitFor('the state', () => viewer.states().at(-1)?.status === 'stopped')
    expect((await supervisor.ask('/processes/bad')).body.reason).toContain('/does/not/exist')
    expect((await view(supervisor, 'bad')).status).toBe(200)
  })
})

test('on systems other than Linux tty has no effect', async () => {
  const supervisor = await startSupervisor(
    { repl: { cmd: 'test -t 1 || echo plain', tty: true, restart: 'never' } },
    {},
    undefined,
    'darwin',
  )
  await expect.poll(async () => (await supervisor.ask('/logs')).body.total_count).toBe(1)
})
