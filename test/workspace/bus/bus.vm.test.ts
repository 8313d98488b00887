import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEventStream, type ReceivedEvent } from '../../support/http/event-stream.ts'
import { openSsh, type OpenSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { machineRoots, vmServer } from '../../support/vm/vm-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, makeWorkspace, type TestServer } from '../../support/workspace/server/test-server.ts'

const LINES = [
  { line: 'hybrid vsock', settings: {} },
  { line: 'a serial port', settings: { vhost_device_vsock: '/nonexistent' } },
]

for (const { line, settings } of LINES)
  describe(`over ${line}`, () => {
    const roots = machineRoots()
    let server: TestServer
    let ssh: OpenSsh

    /** Publishes a message inside; returns the status and body. */
    const publish = async (body: string, user = 'demo'): Promise<{ status: number; text: string }> => {
      const script = `const answer = await fetch('http://127.0.0.1:498/v1/publish', { method: 'POST', body: ${JSON.stringify(body)} })
      console.log(JSON.stringify({ status: answer.status, text: await answer.text() }))`
      const { stdout, stderr } = await ssh.run(user, '/opt/workspace/node --input-type=module -', {
        stdin: script,
      })
      if (stdout.length === 0) throw new Error(stderr)
      return JSON.parse(stdout.toString())
    }
    const isConnected = async () => (await server.api('plugins/workspaces')).body.workspaces.length === 1

    beforeAll(async () => {
      server = await vmServer(roots, { qemu: { root: roots.root, accel: 'tcg', ...settings } })
      ssh = await openSsh(server)
      await makeWorkspace(server.url, { name: 'demo' })
      await waitFor('the agent on the bus', isConnected, 60_000)
    })
    afterAll(async () => {
      await server.api('workspaces/demo', 'DELETE').catch(() => undefined)
      ssh.remove()
      await server.stop()
      roots.remove()
    })

    test('a program inside publishes, and a listener on the host answers', async () => {
      expect((await server.api('plugins/workspaces')).body).toEqual({
        workspaces: [{ name: 'demo', backend: 'qemu', server: 'test-server', extensions: [] }],
      })
      const listener = await readEventStream(`${server.url}/api/plugins/listeners/demo.ns/messages`)
      expect((await server.api('plugins/listeners')).body.listeners).toMatchObject([{ namespace: 'demo.ns' }])
      const published = publish(JSON.stringify({ namespace: 'demo.ns', payload: { hello: 'wörld' } }))
      const [{ event, data } = {} as ReceivedEvent] = await listener.first(1)
      expect(event).toBe('message')
      expect(data).toMatchObject({
        namespace: 'demo.ns',
        type: 'request',
        payload: { hello: 'wörld' },
        workspace: { name: 'demo', backend: 'qemu', server: 'test-server' },
      })
      const answer = { workspace: { name: 'demo' }, in_reply_to: data.id, final: true, payload: { back: 1 } }
      const respond = `${server.url}/api/plugins/listeners/demo.ns/respond`
      expect(await call(respond, 'POST', answer)).toMatchObject({ status: 204 })
      expect(await call(respond, 'POST', answer)).toMatchObject({ status: 204 })
      const { status, text } = await published
      expect(status).toBe(200)
      expect(JSON.parse(text)).toMatchObject({
        type: 'response',
        in_reply_to: data.id,
        final: true,
        payload: { back: 1 },
      })
    })

    test('an event is accepted immediately and reaches the listener', async () => {
      const listener = await readEventStream(`${server.url}/api/plugins/listeners/events/messages`)
      expect(await publish('{"namespace": "events", "type": "event", "payload": {"n": 1}}')).toMatchObject({
        status: 202,
      })
      const [event] = await listener.first(1)
      expect(event?.data).toMatchObject({ type: 'event', payload: { n: 1 }, workspace: { name: 'demo' } })
    })

    test('an invalid message is refused', async () => {
      const { status, text } = await publish('{}')
      expect([status, JSON.parse(text).error.code]).toEqual([400, 'MISSING_NAMESPACE'])
    })

    test('F19 the agent reconnects to a restarted server', async () => {
      server = await server.restart()
      ssh.remove()
      ssh = await openSsh(server)
      await waitFor('the agent after the server’s restart', isConnected, 60_000)
      const listener = await readEventStream(`${server.url}/api/plugins/listeners/events/messages`)
      expect(await publish('{"namespace": "events", "type": "event"}')).toMatchObject({ status: 202 })
      expect(await listener.first(1)).toHaveLength(1)
    })
  })
