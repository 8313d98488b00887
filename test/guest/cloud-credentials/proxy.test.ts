import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { pingHost, type ProxyOptions, serveCredentials } from '../../../guest/cloud-credentials/proxy.ts'
import { type ExtensionMessage, serveNamespace } from '../../../src/workspace/client/serve-namespace.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { simulatedGuest } from '../../support/workspace/guest/guest-simulator.ts'
import { sendRaw, statusOf } from '../../support/http/raw-http.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

/** Returns the status of a request with exactly these headers, which fetch would not send. */
async function statusFor(
  url: URL,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const lines = Object.entries({ host: url.host, ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return statusOf(await sendRaw(Number(url.port), `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`))
}

const ISSUED = {
  access_key_id: 'id',
  secret_access_key: 'secret',
  session_token: 'token',
  expiration: '2026-11-21T13:00:00.000Z',
}

describe('the credential proxy', () => {
  let backend: FakeBackend
  let server: TestServer
  let guest: Awaited<ReturnType<typeof simulatedGuest>>
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
    guest = await simulatedGuest(backend, 'demo')
    await waitFor(
      'the guest',
      async () => (await server.api('plugins/workspaces')).body.workspaces.length === 1,
    )
  })
  afterEach(() => server.stop())

  const agentUrl = () => new URL('/', guest.url).href
  const proxy = async (options: ProxyOptions = {}) => {
    const http = serveCredentials({ port: 0, agentUrl: agentUrl(), ...options })
    onTestFinished(() => void http.close())
    await once(http, 'listening')
    expect((http.address() as AddressInfo).address).toBe('127.0.0.1')
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}/credentials`
  }
  const host = async (answer: (message: ExtensionMessage) => unknown) => {
    const end = new AbortController()
    onTestFinished(() => end.abort())
    await new Promise<void>((resolve) => {
      const options = { server: { url: server.url }, signal: end.signal, onListening: resolve }
      void serveNamespace('cloud-credentials', answer, options)
    })
  }

  test('credentials have the form that SDKs read, and are not stored', async () => {
    const asked: ExtensionMessage[] = []
    await host((message) => {
      asked.push(message)
      return ISSUED
    })
    const url = await proxy()
    const { status, body, headers } = await call(url)
    expect([status, body]).toEqual([
      200,
      { AccessKeyId: 'id', SecretAccessKey: 'secret', Token: 'token', Expiration: ISSUED.expiration },
    ])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    await call(url)
    expect(asked).toMatchObject([
      { payload: { operation: 'get_credentials' }, workspace: { name: 'demo' } },
      { payload: { operation: 'get_credentials' }, workspace: { name: 'demo' } },
    ])
  })

  test('after 3 s without a response the body contains the error', { tags: ['long'] }, async () => {
    const url = await proxy()
    const { status, body } = await call(url)
    expect(status).toBe(504)
    expect(body).toEqual({
      error: 'TIMEOUT',
      message: 'the host issued no credentials within 3 s',
      hint: 'check on the host that workspace-ext-cloud-credentials-host is running, and its log',
      code: 'TIMEOUT',
      Code: 'TIMEOUT',
      Message: 'the host issued no credentials within 3 s',
    })
  })

  test.each([
    ['ASSUME_ROLE_FAILED', 502],
    ['NO_ROLE', 403],
  ])('the host’s error %s becomes status %i', async (code, status) => {
    await host(() => ({ error: 'a message', code }))
    expect(await call(await proxy())).toMatchObject({
      status,
      body: { error: code, message: 'a message', code, Code: code, Message: 'a message' },
    })
  })

  test('a response without a session token is an error', async () => {
    await host(() => ({ ...ISSUED, session_token: 7 }))
    expect(await call(await proxy())).toMatchObject({ status: 502, body: { code: 'INTERNAL_ERROR' } })
  })

  test('without the host it responds immediately with an error', async () => {
    const url = await proxy()
    guest.lose()
    await waitFor('the loss', async () => (await call(url)).status === 503)
    expect(await call(url)).toMatchObject({ body: { code: 'NO_CONNECTION' } })
    expect(await call(await proxy({ agentUrl: 'http://127.0.0.1:1' }))).toMatchObject({
      status: 503,
      body: { code: 'NO_CONNECTION' },
    })
  })

  test.each([
    ['GET', '/credentials', { host: 'evil.example' }, 403],
    ['GET', '/credentials', { host: '127.0.0.1.evil.example' }, 403],
    ['GET', '/credentials', { host: '169.254.170.2' }, 403],
    ['GET', '/credentials', { origin: 'http://127.0.0.1:8080' }, 403],
    ['GET', '/credentials', { origin: 'null' }, 403],
    ['POST', '/credentials', {}, 405],
    ['OPTIONS', '/credentials', {}, 405],
    ['GET', '/', {}, 404],
    ['GET', '/credentials?role=admin', {}, 404],
  ])('C4 %s %s with %j is refused with %i', async (method, path, headers, status) => {
    await host(() => ISSUED)
    const url = new URL(await proxy())
    expect(await statusFor(url, method, path, headers)).toBe(status)
  })

  test('C1 a program cannot choose its role', async () => {
    const asked: ExtensionMessage[] = []
    await host((message) => {
      asked.push(message)
      return ISSUED
    })
    const url = new URL(await proxy())
    expect(await statusFor(url, 'GET', '/credentials', { 'x-role': 'admin' })).toBe(200)
    expect(asked.map(({ payload }) => payload)).toEqual([{ operation: 'get_credentials' }])
  })

  test('C5 with a token, only requests with that token get credentials', async () => {
    await host(() => ISSUED)
    const url = await proxy({ token: 'canary-token' })
    expect(await call(url)).toMatchObject({ status: 401, body: { Code: 'UNAUTHORIZED' } })
    expect((await call(url, 'GET', undefined, { authorization: 'canary' })).status).toBe(401)
    expect((await call(url, 'GET', undefined, { authorization: 'canary-token' })).status).toBe(200)
  })

  test('at its start it pings the host and reports when there is no response', async () => {
    const said = vi.spyOn(console, 'error').mockReturnValue()
    onTestFinished(() => said.mockRestore())
    expect(await pingHost('http://127.0.0.1:1')).toBe(false)
    expect(said).toHaveBeenCalledWith(expect.stringContaining('the host does not respond yet'))
    await host(() => ISSUED)
    expect(await pingHost(agentUrl())).toBe(true)
  })
})
