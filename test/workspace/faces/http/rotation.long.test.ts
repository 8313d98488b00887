import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { serveNamespace } from '../../../../src/workspace/client/serve-namespace.ts'
import { encodeMessage } from '../../../../src/workspace/faces/http/e2b/connect-stream.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { makeSandbox, messagesOf, openStream } from '../../../support/workspace/client/e2b-client.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { ask, serveInside } from '../../../support/workspace/client/port-client.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const TOKENS = ['the-first-token', 'the-second-token'] as const

async function startWithToken() {
  const file = join(tempDir(), 'token')
  writeFileSync(file, `${TOKENS[0]}\n`)
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { e2b: { enabled: true }, http: { token_file: file } },
  })
  onTestFinished(() => server.stop())
  const send = (token: string, path = '/api/workspaces', init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
  const accepts = async (token: string): Promise<boolean> => (await send(token)).status === 200
  return { server, file, send, accepts }
}

test('a token that is replaced in its file ends requests, streams, links and cookies of the previous one', async () => {
  const { server, file, send, accepts } = await startWithToken()
  expect((await send(TOKENS[0], undefined, { method: 'POST', body: '{"name": "demo"}' })).status).toBe(201)
  const { port } = await serveInside((_request, answer) => answer.end('here'))
  const issue = async (token: string): Promise<string> => {
    const body = JSON.stringify({ for: 'port', port, valid_s: 60 })
    const issued = await send(token, '/api/workspaces/demo/passes', { method: 'POST', body })
    return ((await issued.json()) as { url: string }).url
  }
  const open = async (link: string): Promise<string | undefined> => {
    const { status, headers } = await ask(server, `${port}--demo.localhost`, {
      path: `/${new URL(link).search}`,
    })
    return status === 302 ? headers['set-cookie']?.[0]?.split(';')[0] : undefined
  }
  const shows = async (cookie = ''): Promise<boolean> =>
    (await ask(server, `${port}--demo.localhost`, { headers: { cookie } })).status === 200
  const link = await issue(TOKENS[0])
  const cookie = await open(link)
  expect(await shows(cookie)).toBe(true)
  const events = await send(TOKENS[0], '/api/events')
  expect(events.status).toBe(200)
  const ended = events.text().catch(() => 'cut')

  writeFileSync(file, TOKENS[1])
  await waitFor('the second token', () => accepts(TOKENS[1]))
  expect(await accepts(TOKENS[0])).toBe(false)
  await ended
  expect([await open(link), await shows(cookie)]).toEqual([undefined, false])
  expect(await shows(await open(await issue(TOKENS[1])))).toBe(true)
  expect(server.log()).toContain('the file of http.token_file was replaced')
})

test("streams of E2B's clients end with the token from which theirs derive", async () => {
  const { server, file, accepts } = await startWithToken()
  const sandbox = await makeSandbox(server.url, {}, TOKENS[0])
  const command = encodeMessage({ process: { cmd: 'sleep', args: ['100'] } })
  const response = await openStream(server.url, 'process.Process/Start', command, sandbox)
  const ended = messagesOf(response).catch(() => 'cut')
  writeFileSync(file, TOKENS[1])
  expect(await ended).toBe('cut')
  expect(await accepts(TOKENS[1])).toBe(true)
})

test('a replaced token of the bus ends its listeners and no other streams, and a client that reads the file listens again', async () => {
  const file = join(tempDir(), 'bus-token')
  writeFileSync(file, TOKENS[0])
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { bus: { token_file: file } },
  })
  onTestFinished(() => server.stop())
  const send = (token: string, path: string) =>
    fetch(`${server.url}/api/${path}`, { headers: { 'workspace-bus-token': token } })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  let connections = 0
  const listener = serveNamespace('served', () => ({}), {
    server: { url: server.url, busTokenFile: file },
    signal: stop.signal,
    onListening: () => void connections++,
  })
  void listener.catch(() => undefined)
  await waitFor('the listener', () => connections === 1)
  const heard = (await send(TOKENS[0], 'plugins/listeners/demo/messages')).text().catch(() => 'cut')
  const events = await fetch(`${server.url}/api/events`)
  expect((await send(TOKENS[1], 'plugins/listeners')).status).toBe(401)

  writeFileSync(file, TOKENS[1])
  expect(await heard).toBe('cut')
  await waitFor('the listener again', () => connections === 2)
  const statuses = TOKENS.map(async (token) => (await send(token, 'plugins/listeners')).status)
  expect(await Promise.all(statuses)).toEqual([401, 200])
  expect(events.bodyUsed).toBe(false)
  const reader = events.body?.getReader()
  expect(await reader?.read()).toMatchObject({ done: false })
  await reader?.cancel()
})

test.each([
  ['empty', ''],
  ['of several lines', 'one\ntwo\n'],
  ['binary', '\0\u0001\u0002'],
])('a token file that becomes %s keeps the token and is reported', async (_what, content) => {
  const { server, file, accepts } = await startWithToken()
  writeFileSync(file, content)
  await waitFor('the report', () => Promise.resolve(server.log().includes('is not usable')))
  expect([await accepts(TOKENS[0]), (await fetch(`${server.url}/api/workspaces`)).status]).toEqual([
    true,
    401,
  ])
})

test('a server does not start with an empty token, which every request would have', async () => {
  const file = join(tempDir(), 'token')
  writeFileSync(file, '\n')
  const started = startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { http: { token_file: file } },
  })
  await expect(started).rejects.toThrow('does not contain a token')
})

test('a certificate and its key are replaced without a restart, and a mismatch keeps the previous pair', async () => {
  const dir = tempDir()
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  issueCertificate(cert, key, 'first')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { http: { tls: { cert, key } } },
  })
  onTestFinished(() => server.stop())
  const nameOf = async (): Promise<unknown> => {
    const socket = connect({ port: server.httpPort, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { subject } = socket.getPeerCertificate()
    socket.destroy()
    return subject.CN
  }
  expect(await nameOf()).toBe('first')
  issueCertificate(cert, key, 'second')
  await waitFor('the second certificate', async () => (await nameOf()) === 'second')
  const known = readFileSync(key)
  issueCertificate(cert, join(dir, 'another.pem'), 'third')
  await waitFor('the report', () =>
    Promise.resolve(server.log().includes('are not a certificate and its key')),
  )
  expect([await nameOf(), readFileSync(key)]).toEqual(['second', known])
})

function issueCertificate(cert: string, key: string, name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-days', '2']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  execFileSync('openssl', ['req', '-x509', '-nodes', ...curve, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
}
