import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { busClient } from '../../../support/workspace/client/bus-client.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { spawnCli, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe('the bus', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  const { api, listen, connected, answer } = busClient(() => ({ server, backend }))

  test('a program’s request is answered by the listener of its namespace', async () => {
    const guest = await connected()
    const listener = await listen('demo')
    const asked = guest.publish({ namespace: 'demo', payload: { a: 1 } })
    const [message] = await listener.first(1)
    expect(message).toMatchObject({
      event: 'message',
      data: {
        type: 'request',
        payload: { a: 1 },
        workspace: { name: 'demo', backend: 'docker', server: 'test-server' },
      },
    })
    expect(await api('listeners/demo/respond', 'POST', answer(message?.data, { b: 2 }))).toMatchObject({
      status: 204,
    })
    expect(await asked).toMatchObject({
      status: 200,
      body: {
        type: 'response',
        namespace: 'demo',
        in_reply_to: message?.data.id,
        final: true,
        payload: { b: 2 },
      },
    })
  })

  test('a client that accepts lines gets every answer, and others get only the last', async () => {
    const guest = await connected()
    const listener = await listen('demo')
    const all = guest.publish({ namespace: 'demo' }, { accept: 'application/x-ndjson' })
    const last = guest.publish({ namespace: 'demo' })
    for (const { data } of await listener.first(2)) {
      await api('listeners/demo/respond', 'POST', answer(data, { part: 1 }, { final: false }))
      await api('listeners/demo/respond', 'POST', answer(data, { part: 2 }))
    }
    const lines = (await all).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { final: false, payload: { part: 1 } },
      { final: true, payload: { part: 2 } },
    ])
    expect(await last).toMatchObject({ status: 200, body: { final: true, payload: { part: 2 } } })
  })

  test('a request waits for a listener, an event does not', async () => {
    const guest = await connected()
    const asked = guest.publish({ namespace: 'later' })
    expect(await guest.publish({ namespace: 'later', type: 'event' })).toMatchObject({
      status: 202,
      text: '',
    })
    const listener = await listen('later')
    const [message] = await listener.first(1)
    expect(message?.data.type).toBe('request')
    await api('listeners/later/respond', 'POST', answer(message?.data, {}))
    expect(await asked).toMatchObject({ status: 200 })
  })

  test('B2 a listener that reconnects gets only requests that it has neither received nor answered', async () => {
    const guest = await connected()
    const path = `${server.url}/api/plugins/listeners/demo/messages`
    const cut = new AbortController()
    const first = await fetch(path, { signal: cut.signal })
    // Reads nothing, so that both requests are lost with the stream.
    const asked = ['one', 'two'].map((n) => guest.publish({ namespace: 'demo', payload: { n } }))
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
    await waitFor('both requests', async () => /^bus_pending_requests 2$/m.test(await metrics()))
    cut.abort()
    await waitFor('the release', async () => (await api('listeners')).body.listeners.length === 0)
    const lastEventId = first.headers.get('workspace-last-event-id') ?? ''
    const second = await readEventStream(path, { 'last-event-id': lastEventId })
    const messages = await second.first(2)
    expect(new Set(messages.map(({ data }) => data.payload.n))).toEqual(new Set(['one', 'two']))
    for (const { data } of messages)
      expect((await api('listeners/demo/respond', 'POST', answer(data, {}))).status).toBe(204)
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200])
  })

  test('B1 a second listener is refused until the first disconnects', async () => {
    const first = new AbortController()
    onTestFinished(() => first.abort())
    const url = `${server.url}/api/plugins/listeners/demo/messages`
    await fetch(url, { signal: first.signal })
    expectError(await call(url), 409, 'NAMESPACE_ALREADY_REGISTERED')
    expect((await api('listeners')).body).toEqual({
      listeners: [{ namespace: 'demo', created_at: expect.stringMatching(/^\d{4}-.*Z$/) }],
    })
    first.abort()
    await waitFor(
      'the namespace to be free',
      async () => (await api('listeners')).body.listeners.length === 0,
    )
  })

  test.each([
    ['listeners/system:health/messages', 'GET', undefined, 403, 'NAMESPACE_RESERVED'],
    ['listeners/a%20b/messages', 'GET', undefined, 400, 'INVALID_NAMESPACE'],
    ['listeners/a%0d%0ab/messages', 'GET', undefined, 400, 'INVALID_NAMESPACE'],
    ['listeners/demo/respond', 'POST', {}, 400, 'MISSING_WORKSPACE'],
    ['listeners/demo/respond', 'POST', { workspace: { name: '' } }, 400, 'MISSING_WORKSPACE'],
    ['listeners/demo/respond', 'POST', [], 400, 'INVALID_BODY'],
    ['listeners/demo/respond', 'POST', { workspace: { name: 'demo' }, payload: {} }, 400, 'INVALID_BODY'],
    [
      'listeners/demo/respond',
      'POST',
      { workspace: { name: 'gone' }, in_reply_to: '01234567-89ab-7000-8000-000000000000', payload: {} },
      404,
      'WORKSPACE_NOT_CONNECTED',
    ],
  ])('B6 %s, %s %j is refused with %i %s', async (path, method, body, status, code) => {
    expectError(await api(path, method, body), status, code)
  })

  test.each([
    ['application/json', '{'],
    ['application/json', ''],
    ['application/json', '{"__proto__": {}}'],
    ['application/json', '['.repeat(65) + ']'.repeat(65)],
    ['application/x-ndjson', '{}\n{'],
    ['application/x-ndjson', '['.repeat(65) + ']'.repeat(65)],
  ])('an answer of %s that cannot be parsed is refused with INVALID_BODY: %j', async (type, body) => {
    const refusal = await fetch(`${server.url}/api/plugins/listeners/demo/respond`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    expect(refusal.status).toBe(400)
    expect(await refusal.json()).toMatchObject({ error: { code: 'INVALID_BODY' } })
  })

  test.each([
    ['{', 400, 'INVALID_BODY'],
    ['7', 400, 'INVALID_BODY'],
    ['{}', 400, 'MISSING_NAMESPACE'],
    ['{"namespace": "a b"}', 400, 'INVALID_NAMESPACE'],
    ['{"namespace": "system:health"}', 403, 'NAMESPACE_RESERVED'],
    ['{"namespace": "a", "type": "response"}', 400, 'INVALID_BODY'],
    ['{"namespace": "a", "payload": []}', 400, 'INVALID_BODY'],
    [`{"namespace": "a", "payload": {"x": "${'x'.repeat(2 ** 20)}"}}`, 413, 'REQUEST_TOO_LARGE'],
  ])('the agent refuses %.30s with %i %s', async (body, status, code) => {
    const guest = await connected()
    expectError(await guest.publish(body), status, code)
  })

  test('B4 a message too long only on the wire is refused, and other requests continue', async () => {
    const guest = await connected()
    const listener = await listen('demo')
    const asked = guest.publish({ namespace: 'demo' })
    const [message] = await listener.first(1)
    // Nine bytes each in MessagePack, and four in JSON.
    const payload = { numbers: Array.from({ length: 200_000 }, () => 1.5) }
    for (const type of ['request', 'event'])
      expectError(await guest.publish({ namespace: 'demo', type, payload }), 413, 'REQUEST_TOO_LARGE')
    await api('listeners/demo/respond', 'POST', answer(message?.data, {}))
    expect(await asked).toMatchObject({ status: 200 })
  })

  test('the agent accepts only POST /v1/publish from local programs', async () => {
    const guest = await connected()
    expect((await fetch(guest.url)).status).toBe(405)
    expect((await fetch(`${guest.url}/more`, { method: 'POST' })).status).toBe(404)
    expect(await guest.publish({ namespace: 'a' }, { origin: 'http://evil.example' })).toMatchObject({
      status: 403,
    })
  })

  test('F16 a request that is not answered in time fails with 504', async () => {
    const guest = await connected('demo', 50)
    expectError(await guest.publish({ namespace: 'a' }), 504, 'TIMEOUT')
  })

  test('F19 without a connection to the host, requests and events fail immediately', async () => {
    const guest = await connected()
    const listener = await listen('demo')
    const asked = guest.publish({ namespace: 'demo' })
    await listener.first(1)
    guest.lose()
    expectError(await asked, 503, 'NO_CONNECTION')
    for (const type of ['request', 'event'])
      expectError(await guest.publish({ namespace: 'demo', type }), 503, 'NO_CONNECTION')
    guest.find()
    const payload = { n: 1 }
    await waitFor(
      'the connection',
      async () => (await guest.publish({ namespace: 'demo', type: 'event', payload })).status === 202,
    )
    expect((await listener.first(2))[1]?.data).toMatchObject({ type: 'event', payload })
  })

  test('the CLI listens, answers and lists connected workspaces', async () => {
    const guest = await connected()
    const environment = userEnvironment({ WORKSPACE_URL: server.url })
    const listener = spawnCli(['bus', 'listen', 'demo', '--respond', '{"ok": true}'], environment)
    expect(await guest.publish({ namespace: 'demo' })).toMatchObject({
      status: 200,
      body: { payload: { ok: true } },
    })
    expect(JSON.parse(listener.stdout())).toMatchObject({ type: 'request', workspace: { name: 'demo' } })
    const { stdout } = await workspaceCli(['bus', 'ls'], environment)
    expect(JSON.parse(stdout)).toMatchObject({
      listeners: [{ namespace: 'demo' }],
      workspaces: [{ name: 'demo', backend: 'docker' }],
    })
    const wrong = await workspaceCli(
      ['bus', 'respond', 'demo', 'gone', '01234567-89ab-7000-8000-000000000000', '{}'],
      environment,
    )
    expect(wrong).toMatchObject({ status: 1 })
    expect(wrong.stderr).toContain('not connected')
  })
})
