import { duplexPair } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { EnvelopeChannel } from '../../../src/lib/envelope/envelope-channel.ts'
import { type Envelope, payloadOf, type ReceivedEnvelope } from '../../../src/lib/envelope/envelope.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { Bus } from '../../../src/workspace/bus/bus.ts'
import type { GuestMessage } from '../../../src/workspace/bus/guest-message.ts'
import { serveGuest } from '../../../src/workspace/bus/guest-session.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type AlarmClock, systemClock } from '../../../src/lib/clock/clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const newBus = (requestTimeoutMs = 60_000, clock: AlarmClock = systemClock) =>
  new Bus({ server: 'host', requestTimeoutMs, clock })
const made = (type: 'request' | 'event', namespace: string, payload: Envelope['payload'] = {}): Envelope => ({
  id: uuidV7(Date.now()),
  namespace,
  type,
  timestamp: new Date().toISOString(),
  payload,
})

const withPayload = ({ payloadJson, ...same }: ReceivedEnvelope): Envelope => ({
  ...same,
  payload: JSON.parse(payloadJson),
})

/** A guest's end of a connection as its agent sees it. */
async function guestOf(bus: Bus, name: string, token = 'right') {
  const [host, guest] = duplexPair()
  serveGuest(host, { name, backend: 'qemu', token: 'right' }, bus, {
    maxMessageBytes: 4096,
    extensions: [],
    clock: systemClock,
  })
  const heard: Envelope[] = []
  const channel = new EnvelopeChannel(guest, 2 ** 20, (envelope) => heard.push(withPayload(envelope)))
  onTestFinished(() => channel.close())
  channel.send(made('request', 'system:health', { token }))
  if (token === 'right') await waitFor('the welcome', () => heard.length > 0)
  heard.length = 0
  return { channel, connection: guest, heard }
}
const answerTo = ({ envelope, workspace }: GuestMessage, more: object = {}) => ({
  workspaceName: workspace.name,
  inReplyTo: envelope.id,
  isFinal: true,
  payload: { said: payloadOf(envelope) },
  ...more,
})

test('a request reaches its namespace’s listener, and the answer reaches the sender', async () => {
  const bus = newBus()
  const [one, two] = [await guestOf(bus, 'one'), await guestOf(bus, 'two')]
  const messages: GuestMessage[] = []
  bus.listen('demo', {
    deliver(message) {
      messages.push(message)
      bus.respond('demo', answerTo(message))
    },
  })
  const request = made('request', 'demo', { a: 1 })
  one.channel.send(request)
  await waitFor('the answer', () => one.heard.length > 0)
  expect(messages.map((message) => ({ ...message, envelope: withPayload(message.envelope) }))).toEqual([
    { envelope: request, workspace: { name: 'one', backend: 'qemu', server: 'host' } },
  ])
  expect(one.heard).toMatchObject([
    {
      type: 'response',
      namespace: 'demo',
      inReplyTo: request.id,
      isFinal: true,
      payload: { said: { a: 1 } },
    },
  ])
  expect(two.heard).toEqual([])
  expect(bus.workspaces().map(({ name }) => name)).toEqual(['one', 'two'])
})

test('B1 a namespace has one listener, and is free again once that unsubscribes', () => {
  const bus = newBus()
  const leave = bus.listen('demo', { deliver: () => undefined })
  expect(() => bus.listen('demo', { deliver: () => undefined })).toThrow(
    expect.objectContaining({ code: 'NAMESPACE_ALREADY_REGISTERED' }),
  )
  leave()
  const again = bus.listen('demo', { deliver: () => undefined })
  leave()
  expect(bus.listeners()).toMatchObject([{ namespace: 'demo' }])
  again()
  expect(bus.listeners()).toEqual([])
})

test.each([
  ['system:health', 'NAMESPACE_RESERVED'],
  ['system:', 'NAMESPACE_RESERVED'],
  ['', 'INVALID_NAMESPACE'],
  ['a b', 'INVALID_NAMESPACE'],
  ['a\r\nb', 'INVALID_NAMESPACE'],
  ['x'.repeat(129), 'INVALID_NAMESPACE'],
  [undefined, 'INVALID_NAMESPACE'],
])('B6 namespace %j is refused', (namespace, code) => {
  expect(() => newBus().listen(namespace, { deliver: () => undefined })).toThrow(
    expect.objectContaining({ code }),
  )
})

test('B2 each request gets one final answer from the right listener, regardless of other answers', async () => {
  const bus = newBus()
  const guests = await Promise.all(['one', 'two', 'three'].map((name) => guestOf(bus, name)))
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  bus.listen('other', { deliver: () => undefined })
  const asked = guests.flatMap(({ channel }, guest) =>
    Array.from({ length: 100 }, (_, i) => {
      const request = made('request', 'demo', { guest, i })
      channel.send(request)
      return request
    }),
  )
  await waitFor('the requests', () => messages.length === asked.length)
  for (const message of messages) {
    bus.respond('other', answerTo(message, { payload: { said: 'of another namespace' } }))
    bus.respond(
      'demo',
      answerTo(message, { workspaceName: message.workspace.name === 'one' ? 'two' : 'one' }),
    )
    bus.respond('demo', answerTo(message, { isFinal: false }))
    bus.respond('demo', answerTo(message))
    bus.respond('demo', answerTo(message, { payload: { said: 'late' } }))
  }
  await waitFor('the answers', () => guests.every(({ heard }) => heard.length === 200))
  for (const [guest, { heard }] of guests.entries()) {
    const finals = heard.filter(({ isFinal }) => isFinal === true)
    expect(new Set(finals.map(({ inReplyTo }) => inReplyTo)).size).toBe(100)
    for (const { payload } of heard) expect(payload).toMatchObject({ said: { guest } })
  }
  expect(bus.counts).toMatchObject({ requests: 300, responses: 600, lateResponses: 900 })
})

test('B3 a guest is identified by its connection, and its agent by the token', async () => {
  const bus = newBus()
  const forged = await guestOf(bus, 'one', 'wrong')
  await forged.channel.closed
  const [host, guest] = duplexPair()
  serveGuest(host, { name: 'one', backend: 'qemu', token: 'right' }, bus, {
    maxMessageBytes: 4096,
    extensions: [],
    clock: systemClock,
  })
  const unnamed = new EnvelopeChannel(guest, 4096, () => undefined)
  unnamed.send(made('event', 'demo'))
  await unnamed.closed
  expect(bus.workspaces()).toEqual([])
  const { channel, heard } = await guestOf(bus, 'one')
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  channel.send({ ...made('event', 'demo', { workspace: 'two' }) })
  channel.send({ ...made('request', 'demo'), type: 'response', inReplyTo: uuidV7(1), isFinal: true })
  channel.send(made('request', 'system:health', { token: 'right' }))
  channel.send(made('request', 'demo'))
  await waitFor('what came last', () => messages.length === 2)
  expect(messages.map(({ envelope }) => envelope.type)).toEqual(['event', 'request'])
  expect(messages[0]?.workspace.name).toBe('one')
  expect(heard).toEqual([])
})

test('B4 a frame over the limit closes only its own connection', async () => {
  const bus = newBus()
  const [one, two] = [await guestOf(bus, 'one'), await guestOf(bus, 'two')]
  one.channel.send(made('event', 'demo', { text: 'x'.repeat(5000) }))
  await one.channel.closed
  await waitFor('its leave', () => bus.workspaces().length === 1)
  expect(two.connection.destroyed).toBe(false)
})

test('B5 waiting requests are bounded, excess ones are refused, and a listener receives the rest', async () => {
  const bus = newBus()
  const { channel, heard } = await guestOf(bus, 'one')
  for (let i = 0; i < 1_010; i++) channel.send(made('request', 'demo', { i }))
  await waitFor('the refusals', () => heard.length === 10)
  for (const envelope of heard)
    expect(envelope).toMatchObject({ namespace: 'system:bus', payload: { code: 'OVERLOADED' } })
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  expect(messages).toHaveLength(1_000)
  expect(bus.counts).toMatchObject({ requests: 1_010, refusedMessages: 10 })
})

test('B5 a workspace that fills a namespace’s queue leaves the others their share', async () => {
  const count = 1_000
  const bus = newBus()
  const [greedy, modest] = [await guestOf(bus, 'greedy'), await guestOf(bus, 'modest')]
  const fill = () => {
    for (let i = 0; i < count; i++) greedy.channel.send(made('request', 'demo'))
  }
  fill()
  await waitFor('the flood', () => bus.counts.requests === count)
  const requests = Array.from({ length: 100 }, () => made('request', 'demo'))
  for (const request of requests) modest.channel.send(request)
  await waitFor('the modest', () => bus.counts.requests === count + requests.length)
  fill()
  await waitFor('another flood', () => bus.counts.requests === 2 * count + requests.length)
  expect(modest.heard).toEqual([])
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  const ofModest = messages.filter(({ workspace }) => workspace.name === 'modest')
  expect(ofModest.map(({ envelope }) => envelope.id)).toEqual(requests.map(({ id }) => id))
  // Replaced requests were refused: each request of the greedy workspace is waiting or answered once.
  await waitFor('the refusals', () => greedy.heard.length === bus.counts.refusedMessages)
  expect(messages.length + bus.counts.refusedMessages).toBe(bus.counts.requests)
  expect(new Set(greedy.heard.map(({ inReplyTo }) => inReplyTo)).size).toBe(greedy.heard.length)
})

test('an event without a listener is dropped and counted', async () => {
  const bus = newBus()
  const { channel } = await guestOf(bus, 'one')
  channel.send(made('event', 'demo'))
  await waitFor('the event', () => bus.counts.events === 1)
  expect(bus.counts.droppedEvents).toBe(1)
})

test('F18 an unanswered request expires, and a later answer counts as late', async () => {
  const clock = new FakeClock()
  const bus = newBus(30_000, clock)
  const { channel, heard } = await guestOf(bus, 'one')
  const request = made('request', 'demo')
  channel.send(request)
  await waitFor('the request', () => bus.counts.requests === 1)
  await clock.pass(29_999)
  expect(bus.counts.expiredRequests).toBe(0)
  await clock.pass(1)
  expect(bus.counts.expiredRequests).toBe(1)
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  bus.respond('demo', { workspaceName: 'one', inReplyTo: request.id, isFinal: true, payload: {} })
  expect([messages, heard, bus.counts.lateResponses]).toEqual([[], [], 1])
})

test('an answer to a workspace that is not connected, or has left, is refused', async () => {
  const bus = newBus()
  const { channel } = await guestOf(bus, 'one')
  const answer = { workspaceName: 'one', inReplyTo: uuidV7(1), isFinal: true, payload: {} }
  bus.respond('demo', answer)
  channel.close()
  await waitFor('its leave', () => bus.workspaces().length === 0)
  expect(() => bus.respond('demo', answer)).toThrow(
    expect.objectContaining({ code: 'WORKSPACE_NOT_CONNECTED' }),
  )
})

test('F17 a guest that disconnects in the middle of a message leaves nothing pending, 100 times', async () => {
  const bus = newBus()
  for (let i = 0; i < 100; i++) {
    const { channel, connection } = await guestOf(bus, 'one')
    const request = made('request', 'demo')
    channel.send(request)
    await waitFor('the request', () => bus.pendingRequests === 1)
    connection.write(Buffer.from([0, 0, 1, 0, 0x81]))
    connection.destroy()
    await waitFor('its leave', () => bus.workspaces().length === 0)
    expect(bus.pendingRequests).toBe(0)
    const answer = { workspaceName: 'one', inReplyTo: request.id, isFinal: true, payload: {} }
    expect(() => bus.respond('demo', answer)).toThrow('not connected')
  }
})

test('an agent that reconnects replaces its earlier connection', async () => {
  const bus = newBus()
  const first = await guestOf(bus, 'one')
  const second = await guestOf(bus, 'One')
  first.channel.close()
  const messages: GuestMessage[] = []
  bus.listen('demo', { deliver: (message) => messages.push(message) })
  second.channel.send(made('event', 'demo'))
  await waitFor('the event', () => messages.length === 1)
  expect(bus.workspaces()).toHaveLength(1)
})
