import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { busClient } from '../../support/workspace/client/bus-client.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startNats } from '../../support/services/nats.ts'
import { waitFor } from '../../support/wait-for.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** A server of the bus with its guest and host side controlled by the test. */
async function startServer(name: string, natsUrl: string) {
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    settings: { name, bus: { max_message_bytes: '2MiB', nats: { servers: [natsUrl] } } },
  })
  const bus = busClient(() => ({ server, backend }))
  const metric = async (line: string) =>
    (await (await fetch(`${server.url}/metrics`)).text()).split('\n').find((each) => each.startsWith(line))
  const waitForServers = (count: number) =>
    waitFor(`${count} others`, async () => (await metric('bus_servers')) === `bus_servers ${count}`)
  return { ...bus, metric, waitForServers, url: server.url, log: server.log, stop: server.stop }
}

const namespacesOf = async (server: Awaited<ReturnType<typeof startServer>>) =>
  (await server.api('listeners')).body.listeners.map(({ namespace }: { namespace: string }) => namespace)

describe('the bus of several servers', () => {
  let nats: Awaited<ReturnType<typeof startNats>>
  let one: Awaited<ReturnType<typeof startServer>>
  let two: typeof one
  beforeEach(async () => {
    nats = await startNats()
    ;[one, two] = await Promise.all([startServer('host.one', nats.url), startServer('host two', nats.url)])
    await Promise.all([one.waitForServers(1), two.waitForServers(1)])
  })
  afterEach(async () => {
    await Promise.all([one.stop(), two.stop()])
    await nats.end()
  })

  test('a listener on one server answers a workspace on another, with or without naming the server', async () => {
    const guest = await two.connected()
    const listener = await one.listen('demo')
    for (const count of [1, 2]) {
      const asked = guest.publish({ namespace: 'demo', payload: { text: 'ä\n"', count } })
      const message = (await listener.first(count))[count - 1]
      expect(message).toMatchObject({
        event: 'message',
        data: {
          type: 'request',
          payload: { text: 'ä\n"', count },
          workspace: { name: 'demo', backend: 'docker', server: 'host two' },
        },
      })
      const workspace = count === 1 ? { name: 'demo' } : message?.data.workspace
      const answer = { ...one.answer(message?.data, { count }), workspace }
      expect(await one.api('listeners/demo/respond', 'POST', answer)).toMatchObject({ status: 204 })
      expect(await asked).toMatchObject({ status: 200, body: { payload: { count } } })
      // The request has already been answered.
      expect(await one.api('listeners/demo/respond', 'POST', answer)).toMatchObject({ status: 204 })
    }
  })

  test('each server shows the listeners and workspaces of both', async () => {
    await one.connected('first')
    await two.connected('second')
    await one.listen('demo')
    await waitFor('the listener', async () => (await namespacesOf(two)).length === 1)
    for (const server of [one, two]) {
      expect(await namespacesOf(server)).toEqual(['demo'])
      const { workspaces } = (await server.api('workspaces')).body
      expect(workspaces).toHaveLength(2)
      expect(workspaces).toEqual(
        expect.arrayContaining([
          { name: 'first', backend: 'docker', server: 'host.one', extensions: [] },
          { name: 'second', backend: 'docker', server: 'host two', extensions: [] },
        ]),
      )
    }
  })

  test('B1 one of two concurrent listeners on two servers is refused, twenty times', async () => {
    for (let i = 0; i < 20; i++) {
      const both = await Promise.all([one, two].map((server) => server.listen(`demo-${i}`)))
      expect(both.map(({ response }) => response.status).toSorted((a, b) => a - b)).toEqual([200, 409])
    }
    expect(await two.api('listeners/system:a/messages')).toMatchObject({ status: 403 })
  })

  test('a waiting request reaches a listener that appears on the other server, and none after it leaves', async () => {
    const guest = await two.connected()
    const asked = guest.publish({ namespace: 'later' })
    await waitFor('the request', async () => (await two.metric('bus_pending')) === 'bus_pending_requests 1')
    const listener = await one.listen('later')
    const [message] = await listener.first(1)
    await guest.publish({ namespace: 'later', type: 'event', payload: { n: 1 } })
    expect((await listener.first(2))[1]?.data).toMatchObject({ type: 'event', payload: { n: 1 } })
    await one.api('listeners/later/respond', 'POST', one.answer(message?.data, {}))
    expect(await asked).toMatchObject({ status: 200 })
    await one.stop()
    await two.waitForServers(0)
    expect(await namespacesOf(two)).toEqual([])
    await guest.publish({ namespace: 'later', type: 'event' })
    await waitFor(
      'the loss to be counted',
      async () => (await two.metric('bus_lost_total{why="no_listener"}'))?.endsWith(' 1') === true,
    )
    expect((await two.listen('later')).response.status).toBe(200)
  })

  test('B2 an answer from another namespace or for another workspace is not delivered on another server', async () => {
    const guest = await two.connected()
    const other = await two.connected('other')
    const listener = await one.listen('demo')
    const asked = guest.publish({ namespace: 'demo' })
    const [message] = await listener.first(1)
    const answer = one.answer(message?.data, { from: 'elsewhere' })
    const forged = { ...answer, workspace: { name: 'other', server: 'host two' } }
    expect(await one.api('listeners/demo/respond', 'POST', forged)).toMatchObject({ status: 204 })
    const late = 'bus_lost_total{why="late"}'
    await waitFor('its loss', async () => (await two.metric(late))?.endsWith(' 1') === true)
    const stranger = one.answer(message?.data, {}, { final: false })
    expect(await one.api('listeners/stranger/respond', 'POST', stranger)).toMatchObject({ status: 204 })
    await waitFor('its loss', async () => (await two.metric(late))?.endsWith(' 2') === true)
    const gone = { ...answer, workspace: { name: 'gone', server: 'host two' } }
    expectError(await one.api('listeners/demo/respond', 'POST', gone), 404, 'WORKSPACE_NOT_CONNECTED')
    const right = one.answer(message?.data, { from: 'here' })
    await one.api('listeners/demo/respond', 'POST', right)
    expect(await asked).toMatchObject({ body: { payload: { from: 'here' } } })
    void other
  })

  test('a workspace of an unreachable server cannot be answered', async () => {
    const answer = {
      workspace: { name: 'demo', server: 'host three' },
      in_reply_to: '01234567-89ab-7000-8000-000000000000',
      payload: {},
    }
    const refused = await one.api('listeners/demo/respond', 'POST', answer)
    expectError(refused, 404, 'WORKSPACE_NOT_CONNECTED')
    expect(refused.body.error.message).toContain('server "host three"')
  })

  test('each server works alone without NATS, and the first listener keeps the namespace when NATS is back', async () => {
    const guests = [await one.connected(), await two.connected()]
    await nats.end()
    await Promise.all([one.waitForServers(0), two.waitForServers(0)])
    const first = await one.listen('demo')
    // Within the same millisecond, the server's name decides.
    await delay(5)
    const second = await two.listen('demo')
    expect([first.response.status, second.response.status]).toEqual([200, 200])
    for (const [index, listener] of [first, second].entries()) {
      await guests[index]?.publish({ namespace: 'demo', type: 'event', payload: { index } })
      expect((await listener.first(1))[0]?.data.payload).toEqual({ index })
    }
    await nats.begin()
    await second.ended
    expect(await namespacesOf(one)).toEqual(['demo'])
    expect(two.log()).toContain('removing the listener on this server')
    await guests[1]?.publish({ namespace: 'demo', type: 'event', payload: { back: true } })
    expect((await first.first(2))[1]?.data.payload).toEqual({ back: true })
  })

  test('a message that NATS rejects is lost and counted', async () => {
    const guest = await two.connected()
    await one.listen('demo')
    await waitFor('the listener', async () => (await namespacesOf(two)).length === 1)
    const payload = { text: 'x'.repeat(1_048_500) }
    expect(await guest.publish({ namespace: 'demo', type: 'event', payload })).toMatchObject({ status: 202 })
    await waitFor(
      'its loss',
      async () => (await two.metric('bus_lost_total{why="oversized"}'))?.endsWith(' 1') === true,
    )
  })

  test('a server that starts before NATS or has a duplicate name logs that', async () => {
    await nats.end()
    const third = await startServer('host.one', nats.url)
    onTestFinished(() => third.stop())
    await waitFor('the warning', () => third.log().includes('NATS does not respond'))
    expect((await third.listen('own')).response.status).toBe(200)
    await nats.begin()
    await waitFor('the error', () => third.log().includes('is also named \\"host.one\\"'))
    await third.waitForServers(1)
  })
})
