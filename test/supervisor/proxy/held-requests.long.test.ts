import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../support/services/free-port.ts'
import { askProxy, type ProxiedRequest } from '../../support/supervisor/proxied.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { webProgram } from '../../support/supervisor/web-program.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

type Settings = Readonly<Record<string, unknown>>

/** Starts a supervisor with the process `web`, whose files the test creates. */
async function startWeb(files: readonly string[], more: Settings = {}, proxy: Settings = {}) {
  const dir = tempDir()
  const { cmd, touch } = webProgram(dir, files)
  const port = await freePort()
  const supervisor = await startSupervisor(
    { web: { cmd, proxy: { port }, ...more } },
    { proxy: { enabled: true, port: 0, ...proxy } },
    dir,
  )
  const { proxyPort } = supervisor.running
  const through = (path = '/', options?: ProxiedRequest) => askProxy(proxyPort, path, options)
  /** Returns when the proxy has handled all requests sent before. */
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 3; i++)
      expect((await through('/', { headers: { host: 'x.localhost' } })).status).toBe(404)
  }
  const requests = async () =>
    ((await supervisor.ask('/proxy/requests?subdomain=web')).body.requests as readonly any[]).toReversed()
  const pid = async (): Promise<number> => (await supervisor.ask('/processes/web')).body.pid
  return { ...supervisor, dir, touch, through, proxyPort, settled, requests, pid }
}

test('a request to a process that is starting waits until it listens', async () => {
  const { through, touch, settled, requests } = await startWeb(['end'])
  const asked = ['GET', 'POST'].map((method) =>
    through('/', { method, body: method === 'POST' ? 'hello' : '' }),
  )
  await settled()
  touch('gate')
  const answers = await Promise.all(asked)
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.map(({ body }) => JSON.parse(body).bytes)).toEqual([0, 5])
  expect(await through()).toMatchObject({ status: 200 })
  const [first, second, later] = await requests()
  expect(first.held_ms).toBeGreaterThan(0)
  expect(first.duration_ms).toBeGreaterThanOrEqual(first.held_ms)
  expect(second.held_ms).toBeGreaterThan(0)
  expect(later.held_ms).toBe(0)
})

test('requests during a restart wait for the next run, upgrades too', async () => {
  const { through, touch, settled, requests, ask, until, proxyPort, pid } = await startWeb(['gate'])
  expect((await through()).status).toBe(200)
  const before = await pid()
  const restarted = ask('/processes/web/restart', 'POST')
  await until('web', 'stopping')
  // The run that is exiting still listens.
  const asked = [through('/'), through('/', { method: 'POST', body: 'x'.repeat(100_000) })]
  const socket = connect(proxyPort, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
  socket.write('GET /ws HTTP/1.1\r\nHost: web.localhost\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nearly')
  await settled()
  touch('end')
  expect((await restarted).status).toBe(200)
  const answers = await Promise.all(asked)
  const after = await pid()
  expect(after).not.toBe(before)
  expect(answers.map(({ body }) => JSON.parse(body))).toMatchObject([
    { pid: after, bytes: 0 },
    { pid: after, bytes: 100_000 },
  ])
  await waitFor('the echo', () => received.endsWith('early'))
  expect(received).toMatch(/^HTTP\/1\.1 101 /)
  socket.destroy()
  const [, ...others] = await requests()
  expect(others.filter((each) => each.held_ms > 0).length).toBe(3)
})

test('a request waits for a process that crashed after it had served, but not for one that never did', async () => {
  const { through, dir, touch, ask, until } = await startWeb(['gate', 'end'], { restart_delay: '1s' })
  expect((await through()).status).toBe(200)
  expect((await through('/crash', { method: 'POST' })).status).toBe(502)
  await until('web', 'crashed')
  expect((await through()).status).toBe(200)
  // Now it exits before it listens.
  touch('broken')
  expect((await through('/crash', { method: 'POST' })).status).toBe(502)
  await until('web', 'crashed')
  const next = await through()
  expect(next.status).toBe(502)
  expect(next.headers['retry-after']).toBe('1')
  // Its output is read independently of its exit.
  await waitFor('its output', async () => (await through()).body.includes('broken'))
  rmSync(join(dir, 'broken'))
  await ask('/processes/web/stop', 'POST')
  const stopped = await through()
  expect(stopped.status).toBe(502)
  expect(stopped.headers).not.toHaveProperty('retry-after')
})

test('the page for a process that runs but does not listen yet is not headed "is running"', async () => {
  const { through, settled, proxyPort } = await startWeb(['end'], {}, { hold: '60s', hold_requests: 1 })
  const client = request({ port: proxyPort, headers: { host: 'web.localhost' }, agent: false }).end()
  client.on('error', () => undefined)
  await settled()
  const refused = await through('/')
  expect(refused.status).toBe(503)
  expect(refused.body).toContain('<h1>web is not ready</h1>')
  client.destroy()
})

test('a request does not wait longer than the limit, and no more requests than the limit wait', async () => {
  const { through, settled, requests, touch, proxyPort } = await startWeb(
    ['end'],
    { healthcheck: { exec: 'test -e gate', interval: '50ms', retries: 1_000 } },
    { hold: '2s', hold_requests: 1 },
  )
  const client = request({ port: proxyPort, headers: { host: 'web.localhost' }, agent: false }).end()
  client.on('error', () => undefined)
  await settled()
  const refused = await through('/', { headers: { accept: 'application/json' } })
  expect(refused.status).toBe(503)
  expect(refused.headers['retry-after']).toBe('1')
  expect(JSON.parse(refused.body).error).toContain('too many requests wait')
  // A client that disconnects gives up its place.
  client.destroy()
  await waitFor('its end', async () => (await requests()).some(({ status_code: status }) => status === 499))
  const late = await through()
  expect(late.status).toBe(503)
  expect(late.headers['retry-after']).toBe('1')
  expect(late.body).toContain('was not ready within 2 s')
  const [, , held] = await requests()
  expect(held.held_ms).toBeGreaterThan(0)
  touch('gate')
  await waitFor('it to listen', async () => (await through()).status === 200)
})

test('with a limit of zero, and for a process with its own, requests are refused at once', async () => {
  for (const [own, all] of [
    [{}, { hold: '0s' }],
    [{ hold: '0s' }, {}],
  ] as const) {
    const port = await freePort()
    const { through } = await startWeb(['end'], { proxy: { port, ...own } }, all)
    expect((await through()).status).toBe(502)
  }
})

test('the body of a waiting request stays with its client', async () => {
  const total = 64 * 2 ** 20
  const { proxyPort, settled, touch } = await startWeb(['end'])
  const client = request({
    port: proxyPort,
    method: 'POST',
    headers: { host: 'web.localhost', 'content-length': String(total) },
    agent: false,
  })
  const answered = once(client, 'response')
  const piece = Buffer.alloc(2 ** 20)
  for (let at = 0; at < total; at += piece.length) client.write(piece)
  const [socket] = client.socket === null ? await once(client, 'socket') : [client.socket]
  const written = (): number => socket.bytesWritten - socket.writableLength
  // The kernel's buffers fill.
  let before = -1
  while (written() !== before) {
    before = written()
    for (let i = 0; i < 10; i++) await settled()
  }
  expect(before).toBeLessThan(total / 2)
  touch('gate')
  client.end()
  const [answer] = await answered
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  expect(JSON.parse(text).bytes).toBe(total)
})
