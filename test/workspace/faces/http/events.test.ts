import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'
import { waitFor } from '../../../support/wait-for.ts'

describe('the event stream', () => {
  let backend: FakeBackend
  let server: TestServer
  beforeEach(async () => {
    backend = new FakeBackend()
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterEach(() => server.stop())

  const open = () => readEventStream(`${server.url}/api/events`)
  const dropped = async () =>
    Number(
      /^sse_streams_dropped_total (\d+)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1],
    )

  test('starts with a snapshot and reports every change of a workspace', async () => {
    await server.create({ name: 'old' })
    const stream = await open()
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    const { body: made } = await server.create({ name: 'Demo' })
    const { body: stopped } = await server.api('workspaces/demo/stop', 'POST')
    await server.api('workspaces/demo/start', 'POST')
    await server.api('workspaces/DEMO', 'DELETE')
    const [snapshot, ...changes] = await stream.first(7)
    expect(snapshot).toMatchObject({ event: 'snapshot', data: { workspaces: [{ name: 'old' }] } })
    expect(changes.map(({ event }) => event)).toEqual(Array.from({ length: 6 }, () => 'workspace'))
    expect(changes.map(({ data }) => data)).toEqual([
      { type: 'created', workspace: expect.objectContaining({ name: 'Demo', status: 'starting' }) },
      { type: 'changed', workspace: made },
      { type: 'changed', workspace: stopped },
      {
        type: 'changed',
        workspace: {
          ...stopped,
          status: 'starting',
          status_reason: expect.objectContaining({ reason: 'a client requested the start' }),
        },
      },
      { type: 'changed', workspace: made },
      { type: 'deleted', name: 'Demo' },
    ])
    const ids = [snapshot, ...changes].map((each) => Number(each?.id))
    expect(ids.slice(1)).toEqual(ids.slice(0, -1).map((id) => id + 1))
  })

  test('reports a failed creation as created and deleted', async () => {
    const stream = await open()
    backend.before.set('started', () => Promise.reject(new Error('no')))
    expect((await server.create({ name: 'demo' })).status).toBe(500)
    const [, ...changes] = await stream.first(3)
    expect(changes.map(({ data }) => data.type)).toEqual(['created', 'deleted'])
  })

  test('reports external changes, and nothing when nothing has changed', async () => {
    await server.create({ name: 'demo' })
    const stream = await open()
    await stream.first(1)
    // Duplicate engine events, refused requests and reads change nothing.
    backend.happen('demo', { is: 'running' })
    expect((await server.api('workspaces/demo/start', 'POST')).status).toBe(409)
    backend.setAvailable(true)
    backend.happen('demo', { is: 'error', message: 'it broke' })
    const [, changes] = await stream.first(2)
    expect(changes?.data).toMatchObject({
      type: 'changed',
      workspace: { status: 'error', error_message: 'it broke' },
    })
    backend.happen('demo', 'gone')
    await stream.first(3)
    expect(stream.events).toHaveLength(3)
  })

  test('sends a new snapshot to a client that reconnects', async () => {
    const first = await open()
    await server.create({ name: 'demo' })
    await first.first(3)
    const [snapshot] = await (await open()).first(1)
    expect(snapshot?.data.workspaces).toMatchObject([{ name: 'demo', status: 'running' }])
    expect(snapshot?.id).toBe(first.events[2]?.id)
  })

  test('ends when the server stops, and is not opened by a HEAD request', async () => {
    expect((await fetch(`${server.url}/api/events`, { method: 'HEAD' })).status).toBe(405)
    const stream = await open()
    await stream.first(1)
    const other = await server.restart()
    await stream.ended
    server = other
  })

  test('F29 H12 drops and counts a client that never reads, and serves others on time', async () => {
    await server.create({ name: 'demo' })
    const silent = connect(server.httpPort, '127.0.0.1').pause()
    onTestFinished(() => void silent.destroy())
    silent.on('error', () => undefined)
    silent.write('GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const stream = await open()
    await stream.first(1)
    // The kernel buffers a few megabytes before data accumulates in the server.
    let count = 0
    for (; (await dropped()) === 0 && count < 400; count++) {
      backend.happen('demo', { is: 'error', message: `${count} ${'x'.repeat(100_000)}` })
      await stream.first(count + 2)
    }
    expect(await dropped()).toBe(1)
    expect(count).toBeGreaterThan(10)
  })

  test('H12 does not drop a reading client for a snapshot larger than the limit', async () => {
    await server.create({ name: 'demo' })
    backend.happen('demo', { is: 'error', message: 'x'.repeat(3_000_000) })
    await waitFor('the change', async () => (await server.api('workspaces/demo')).body.status === 'error')
    const stream = await open()
    await stream.first(1)
    backend.happen('demo', { is: 'running' })
    await stream.first(2)
    expect(await dropped()).toBe(0)
  })
})
