import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readEvents } from '../../../../src/lib/sse/read-events.ts'
import { busClient } from '../../../support/workspace/client/bus-client.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { spawnCli, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import { call, startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe('a running bus', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  const { api, listen, connected, answer } = busClient(() => ({ server, backend }))

  test('answers are accepted as lines, and an invalid line does not block the others', async () => {
    const guest = await connected()
    const listener = await listen('demo')
    const asked = [guest.publish({ namespace: 'demo' }), guest.publish({ namespace: 'demo' })]
    const [first, second] = await listener.first(2)
    const respond = async (body: string) =>
      fetch(`${server.url}/api/plugins/listeners/demo/respond`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body,
      })
    const lines = [answer(first?.data, { n: 1 }), { workspace: {} }, answer(second?.data, { n: 2 })]
    const refused = await respond(lines.map((line) => JSON.stringify(line)).join('\n'))
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'MISSING_WORKSPACE',
        message: expect.stringContaining('1 of 3 answers were rejected, the first on line 2'),
      },
    })
    expect(
      (await Promise.all(asked)).map(({ body }) => body.payload.n).toSorted((a: number, b: number) => a - b),
    ).toEqual([1, 2])
    expect((await respond(`${JSON.stringify(answer(first?.data, {}))}\n\n`)).status).toBe(204)
    expect((await respond('{"a": 1}\n{')).status).toBe(400)
    const deep = `{"payload": ${'['.repeat(100)}${']'.repeat(100)}}`
    expect(await (await respond(deep)).json()).toMatchObject({ error: { code: 'INVALID_BODY' } })
  })

  test('other routes refuse lines', async () => {
    const { status } = await fetch(`${server.url}/api/workspaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: '{"name": "demo"}',
    })
    expect(status).toBe(400)
  })

  test('a watcher sees delivered and lost messages without payloads', async () => {
    const guest = await connected()
    const tail = spawnCli(['bus', 'tail'], userEnvironment({ WORKSPACE_URL: server.url }))
    const seen = () =>
      tail
        .stdout()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    await waitFor('the watcher', async () => {
      await guest.publish({ namespace: 'nobody', type: 'event', payload: { canary: true } })
      return seen().length > 0
    })
    const listener = await listen('demo')
    const asked = guest.publish({ namespace: 'demo', payload: { canary: true } })
    const [message] = await listener.first(1)
    await api('listeners/demo/respond', 'POST', answer(message?.data, { canary: true }))
    await asked
    await api('listeners/demo/respond', 'POST', answer(message?.data, {}))
    await waitFor('all', () => seen().some(({ lost }) => lost === 'late'))
    expect(seen().filter(({ namespace }) => namespace === 'demo')).toMatchObject([
      { type: 'request', id: message?.data.id, workspace: { name: 'demo' } },
      { type: 'response', in_reply_to: message?.data.id, final: true },
      { type: 'response', lost: 'late' },
    ])
    expect(seen()[0]).toMatchObject({ namespace: 'nobody', type: 'event', lost: 'no_listener' })
    expect(tail.stdout()).not.toContain('canary')
    expect(tail.stdout()).not.toContain('payload')
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toContain('bus_messages_total{type="request"} 1')
    expect(metrics).toContain('bus_lost_total{why="late"} 1')
    expect(metrics).toContain('bus_workspaces 1')
    expect(metrics).toContain('bus_pending_requests 0')
  })

  test('W12 a watcher that requests payloads gets them without secrets', async () => {
    const guest = await connected()
    const environment = userEnvironment({ WORKSPACE_URL: server.url })
    const tail = spawnCli(['bus', 'tail', 'nobody', '--payloads'], environment)
    const payload = { step: 3, inner: [{ accessKey: 'canary' }] }
    await waitFor('the watcher', async () => {
      await guest.publish({ namespace: 'nobody', type: 'event', payload })
      return tail.stdout().includes('\n')
    })
    const [line = ''] = tail.stdout().split('\n')
    expect(JSON.parse(line)).toMatchObject({ payload: { step: 3, inner: [{ accessKey: '[secret]' }] } })
    expect(tail.stdout()).not.toContain('canary')
    expectError(await api('messages?payloads=perhaps'), 400, 'INVALID_REQUEST')
  })

  test('B1 listening, answering and watching require the bus token', async () => {
    const token = 'canary-0123456789'
    const guarded = await startWorkspaceServer({
      backends: () => [new FakeBackend()],
      settings: { bus: { token } },
    })
    onTestFinished(() => guarded.stop())
    const bus = `${guarded.url}/api/plugins`
    const routes = ['listeners', 'workspaces', 'messages', 'listeners/demo/messages']
    for (const route of routes)
      expect(await call(`${bus}/${route}`), route).toMatchObject({
        status: 401,
        body: { error: { code: 'UNAUTHORIZED' } },
      })
    expect((await call(`${bus}/listeners/demo/respond`, 'POST', {})).status).toBe(401)
    expect(
      (await call(`${bus}/listeners`, 'GET', undefined, { 'workspace-bus-token': 'wrong' })).status,
    ).toBe(401)
    expect((await call(`${bus}/listeners`, 'GET', undefined, { 'workspace-bus-token': token })).body).toEqual(
      {
        listeners: [],
      },
    )
    expect((await guarded.api('workspaces')).status).toBe(200)
    const file = join(tempDir(), 'token')
    writeFileSync(file, `${token}\n`)
    const environment = userEnvironment({ WORKSPACE_URL: guarded.url, WORKSPACE_BUS_TOKEN_FILE: file })
    expect(await workspaceCli(['bus', 'ls'], environment)).toMatchObject({ status: 0 })
    expect(guarded.log()).not.toContain(token)
  })

  test('F16 F29 a listener that does not read is dropped, its namespace is released, and others continue', async () => {
    const hasty = await startWorkspaceServer({
      backends: () => [backend],
      settings: { bus: { request_timeout: '1s' } },
    })
    onTestFinished(() => hasty.stop())
    const client = busClient(() => ({ server: hasty, backend }))
    const guest = await client.connected()
    const other = await client.connected('other')
    const url = new URL(`${hasty.url}/api/plugins/listeners/slow/messages`)
    const asked = request(url).end()
    onTestFinished(() => void asked.destroy())
    await new Promise((resolve) => asked.once('response', (response) => resolve(response.pause())))
    // An idle listener is not one that does not read.
    await delay(3_000)
    expect((await client.api('listeners')).body.listeners).toHaveLength(1)
    const payload = { text: 'x'.repeat(64 * 1024) }
    await waitFor('the listener to be dropped', async () => {
      await Promise.all(
        Array.from({ length: 20 }, () => guest.publish({ namespace: 'slow', type: 'event', payload })),
      )
      return (await client.api('listeners')).body.listeners.length === 0
    })
    const listener = await client.listen('fine')
    const answered = other.publish({ namespace: 'fine' })
    const [message] = await listener.first(1)
    await client.api('listeners/fine/respond', 'POST', client.answer(message?.data, {}))
    expect(await answered).toMatchObject({ status: 200 })
    expect((await client.listen('slow')).response.status).toBe(200)
    expect(await (await fetch(`${hasty.url}/metrics`)).text()).toContain('sse_streams_dropped_total 1')
  })

  test('B5 F29 a listener that reads slowly gets all requests that fit, each once, and keeps its namespace', async () => {
    const guest = await connected()
    const response = await new Promise<IncomingMessage>((resolve) =>
      request(`${server.url}/api/plugins/listeners/slow/messages`).once('response', resolve).end(),
    )
    onTestFinished(() => void response.destroy())
    response.pause()
    const payload = { text: 'x'.repeat(1_000_000) }
    const asked = Array.from({ length: 15 }, () => guest.publish({ namespace: 'slow', payload }))
    const events = Array.from({ length: 500 }, () =>
      guest.publish({ namespace: 'slow', type: 'event', payload: {} }),
    )
    await Promise.all(events)
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
    await waitFor('the requests', async () => (await metrics()).includes('bus_pending_requests 15'))
    const ids: string[] = []
    let heard = 0
    for await (const { data } of readEvents(response.setEncoding('utf8'))) {
      const message = JSON.parse(data)
      if (message.type === 'event') heard++
      else {
        ids.push(message.id)
        expect(message.payload).toEqual(payload)
        await api('listeners/slow/respond', 'POST', answer(message, { n: ids.length }))
      }
      if (ids.length === 15 && heard === 500) break
    }
    const answers = (await Promise.all(asked)).map(({ body }) => body.payload.n)
    expect(answers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1))
    expect(new Set(ids).size).toBe(15)
    expect(await metrics()).toContain('sse_streams_dropped_total 0')
  })
})
