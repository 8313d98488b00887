import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { suiteDir } from '../../../../support/temp-dir.ts'
import {
  linesOf,
  makeSandbox,
  open,
  type SandboxHeaders,
  textOf,
} from '../../../../support/workspace/client/e2b-client.ts'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../../support/workspace/server/test-server.ts'

const TOKEN = 'the-token'
const INTERPRETER_PORT = 49_999

/** A backend whose workspaces listen on the interpreter's port when the test does on another. */
class ListeningBackend extends FakeBackend {
  listensOn: number | undefined

  override dial(name: string, port: number) {
    return super.dial(name, port === INTERPRETER_PORT ? (this.listensOn ?? 1) : port)
  }
}

test('the host of its port is answered by the server unless the sandbox listens there', async () => {
  const backend = new ListeningBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { e2b: { enabled: true } },
  })
  onTestFinished(server.stop)
  const to = (name: string, body: unknown, path = '/execute') =>
    open(server.url + path, body, { host: `49999-${name}.localhost:80` })
  const id = (await makeSandbox(server.url))['e2b-sandbox-id'] ?? ''
  const resultsOf = (lines: readonly any[]) => lines.filter(({ type }) => type === 'result')
  expect(resultsOf(linesOf(await textOf(await to(id, { code: '6 * 7' }))))).toMatchObject([{ text: '42' }])
  expect((await to(id, {}, '/anything')).resume().statusCode).toBe(501)
  const missing = await to('missing', { code: '1' })
  expect([missing.statusCode, await textOf(missing)]).toEqual([
    502,
    expect.stringContaining('sandbox was not found'),
  ])
  await makeWorkspace(server.url, { name: 'ordinary' })
  expect((await to('ordinary', { code: '1' })).resume().statusCode).toBe(502)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  // Each is counted once, although it was first offered to the sandbox.
  expect(metrics).toContain('route="/e2b/execute"')
  expect(metrics).not.toContain('route="none"')

  const inside = createServer((incoming, response) => {
    void textOf(incoming).then((text) => response.end(`inside got ${incoming.url} ${text}`))
  })
  inside.on('upgrade', (_request, socket) =>
    socket.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nup'),
  )
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  backend.listensOn = (inside.address() as AddressInfo).port
  onTestFinished(() => {
    backend.listensOn = undefined
    inside.close()
  })
  expect(await textOf(await to(id, { code: '1' }))).toBe('inside got /execute {"code":"1"}')
  const upgraded = await new Promise<string>((resolve) => {
    const socket = connect(server.httpPort, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
    socket.write(`GET / HTTP/1.1\r\nhost: 49999-${id}.localhost\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n`)
  })
  expect(upgraded).toMatch(/^HTTP\/1.1 101 [^]*up$/)
})

describe('with a token', () => {
  const folder = suiteDir()
  let server: TestServer
  beforeAll(async () => {
    writeFileSync(join(folder.path, 'token'), TOKEN)
    const backend = new ListeningBackend()
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { e2b: { enabled: true }, http: { token_file: join(folder.path, 'token') } },
    })
  })
  afterAll(() => server.stop())

  test(
    "code requires the sandbox's token, and contexts that or the one for ports",
    { tags: ['long'] },
    async () => {
      const create = async () =>
        (await call(`${server.url}/e2b/sandboxes`, 'POST', { templateID: 'base' }, { 'x-api-key': TOKEN }))
          .body
      const [one, other] = [await create(), await create()]
      const status = async (path: string, headers: SandboxHeaders, method = 'POST', byHost = false) => {
        const to = byHost ? { host: `49999-${one.sandboxID}.localhost` } : { 'e2b-sandbox-id': one.sandboxID }
        const url = `${server.url}${byHost ? '' : '/e2b'}/${path}`
        const response = await open(url, method === 'GET' ? '' : { code: '1' }, { ...to, ...headers }, method)
        return response.resume().statusCode
      }
      const admissions = [
        [{}, 401, 401],
        [{ 'x-api-key': 'wrong' }, 401, 401],
        [{ 'x-access-token': other.envdAccessToken }, 401, 401],
        [{ 'e2b-traffic-access-token': other.trafficAccessToken }, 401, 401],
        [{ 'e2b-traffic-access-token': one.trafficAccessToken }, 401, 200],
        [{ 'x-access-token': one.envdAccessToken }, 200, 200],
        [{ 'x-api-key': TOKEN }, 200, 200],
        [{ authorization: `Bearer ${TOKEN}` }, 200, 200],
      ] as const
      for (const byHost of [false, true])
        for (const [headers, ofCode, ofContexts] of admissions) {
          expect(await status('execute', headers, 'POST', byHost), JSON.stringify(headers)).toBe(ofCode)
          expect(await status('contexts', headers, 'GET', byHost)).toBe(ofContexts)
          const others = [
            await status('contexts/python/restart', headers, 'POST', byHost),
            await status('contexts/javascript', headers, 'DELETE', byHost),
          ]
          expect(others).toEqual([ofContexts, ofContexts])
        }
    },
  )
})
