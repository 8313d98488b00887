import { fc } from '../../support/fast-check.ts'
import { duplexPair } from 'node:stream'
import { expect, test } from 'vitest'
import { type MuxChannel, WINDOW_BYTES } from '../../../src/lib/mux/channel.ts'
import { encodeFrame, FRAME, type FrameKind } from '../../../src/lib/mux/frame.ts'
import { MAX_CHANNELS, Mux } from '../../../src/lib/mux/mux.ts'
import { addPiece } from '../../../src/lib/mux/pieces.ts'
import { waitFor } from '../../support/wait-for.ts'
import { rounds } from '../../support/rounds.ts'

/** Maximum memory of a channel: twice its window, and two partly filled blocks. */
const MAX_BUFFERED_BYTES = 2 * WINDOW_BYTES + 2 * 8 * 1024

function attacked() {
  const [link, attacker] = duplexPair()
  attacker.on('error', () => undefined).resume()
  const mux = new Mux(link, { isFirst: true })
  const channels = [mux.channel(1), mux.channel(2)]
  for (const channel of channels) channel.on('error', () => undefined)
  // Separate memory for each chunk, as from a socket; Buffer.concat takes small buffers from a pool.
  const send = (...bytes: readonly Uint8Array[]) =>
    link.push(Buffer.from(new Uint8Array(Buffer.concat(bytes)).buffer))
  return { mux, link, channels, send }
}

const frame = (channel: number, kind: FrameKind, payload?: Uint8Array) =>
  Buffer.concat(encodeFrame(channel, kind, payload))
const settled = () => new Promise((resolve) => setImmediate(resolve))
const held = (channels: readonly MuxChannel[]) => channels.map(({ heldBytes }) => heldBytes)

test('B5 H12 for any frames the buffered data stays within the windows', { tags: ['long'] }, async () => {
  const frames = fc.record({
    channel: fc.constantFrom(1, 2, 7, 5_000),
    kind: fc.oneof(fc.constant(FRAME.data), fc.constantFrom(...Object.values(FRAME))),
    size: fc.oneof(fc.constantFrom(0, 1, 65_536), fc.constant(8_192), fc.integer({ min: 2, max: 200 })),
    /** Bytes for a channel that does not exist, in the same chunk. */
    filler: fc.constantFrom(0, 8_000, 60_000),
    /** Bytes of another frame of the channel, in a separate chunk. */
    next: fc.constantFrom(0, 1, 5_000),
    times: fc.integer({ min: 1, max: 3_000 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(frames, { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      fc.boolean(),
      async (list, isRead, isWithinWindow) => {
        const { mux, channels, send } = attacked()
        if (isRead) channels[0]?.once('readable', () => channels[0]?.read(1))
        const sent = new Map<number, number>()
        for (const { channel, kind, size, filler, next, times } of list) {
          const fill = filler === 0 ? [] : [frame(9, FRAME.data, Buffer.alloc(filler))]
          const one = Buffer.concat([frame(channel, kind, Buffer.alloc(size)), ...fill])
          const before = sent.get(channel) ?? 0
          // A connection closed for too much data buffers nothing: the maximum is reached just below the limit.
          const most = isWithinWindow ? Math.floor((WINDOW_BYTES - before) / (size + next || 1)) : Infinity
          const count = Math.min(times, Math.ceil((2 * WINDOW_BYTES) / one.length), most)
          for (let sends = 0; sends < count && !mux.isClosed; sends++) {
            send(one)
            if (next > 0) send(frame(channel, FRAME.data, Buffer.alloc(next)))
          }
          sent.set(channel, before + count * (size + next))
          await settled()
          for (const bytes of held(channels)) expect(bytes).toBeLessThanOrEqual(MAX_BUFFERED_BYTES)
        }
        mux.close()
      },
    ),
    { numRuns: rounds(60, 300) },
  )
})

test('B5 a buffered byte does not keep its chunk in memory', async () => {
  const { channels, send } = attacked()
  // Frames of missing channels fill the chunk.
  const filler = frame(9, FRAME.data, Buffer.alloc(60_000))
  for (let i = 0; i < 1_000; i++) send(frame(1, FRAME.data, Buffer.alloc(1)), filler)
  await settled()
  expect(held(channels)[0]).toBeLessThanOrEqual(8 * 1024)
})

test.each([
  ['data of no bytes', frame(1, FRAME.data)],
  ['credit for bytes that were never sent', frame(1, FRAME.credit, Buffer.from([0, 0, 0, 1]))],
  ['the maximum credit', frame(1, FRAME.credit, Buffer.from([255, 255, 255, 255]))],
  ['credit of three bytes', frame(1, FRAME.credit, Buffer.alloc(3))],
  ['data after the end', Buffer.concat([frame(1, FRAME.end), frame(1, FRAME.data, Buffer.alloc(1))])],
  ['a channel that is open already', frame(1, FRAME.open)],
  ['a frame that is too long', Buffer.concat([Buffer.from([0, 0, 0, 1, FRAME.data, 1, 0, 1])])],
  ['a kind that does not exist', Buffer.from([0, 0, 0, 1, 9, 0, 0, 0, 0xa5])],
  ['a frame with a wrong last byte', Buffer.from([0, 0, 0, 1, FRAME.end, 0, 0, 0, 0])],
])('B4 %s closes the connection', async (_what, bytes) => {
  const { mux, channels, send } = attacked()
  send(bytes)
  await settled()
  expect(mux.isClosed).toBe(true)
  // Data received before a regular end may still be read.
  expect(channels[1]?.destroyed).toBe(true)
})

test(
  'B5 thousands of frames in one read wait for their turn, and none is lost',
  { tags: ['long'] },
  async () => {
    const { channels, link, send } = attacked()
    const one = frame(1, FRAME.data, Buffer.alloc(1))
    const count = 100_000
    let bytes = 0
    channels[0]?.on('data', (piece: Buffer) => (bytes += piece.length))
    send(...Array.from({ length: count }, () => one))
    await settled()
    expect(link.isPaused()).toBe(true)
    expect(bytes).toBeLessThan(count)
    await waitFor('all of them', () => bytes === count)
  },
)

test('B5 channels that a peer opens wait for their turn, even if it closes them immediately', async () => {
  const [link, attacker] = duplexPair()
  attacker.on('error', () => undefined).resume()
  let opened = 0
  const mux = new Mux(link, {
    isFirst: true,
    onChannel: (channel) => {
      opened += 1
      channel.on('error', () => undefined)
    },
  })
  const pair = Buffer.concat([frame(5_000, FRAME.open), frame(5_000, FRAME.reset)])
  link.push(Buffer.concat(Array.from({ length: 10_000 }, () => pair)))
  await settled()
  expect(link.isPaused()).toBe(true)
  // A burst of eight, and as many as the elapsed time allows.
  expect(opened).toBeLessThan(500)
  mux.close()
})

test(
  'B5 a connection has at most 1,024 channels, however both sides open and close them',
  { tags: ['long'] },
  async () => {
    const steps = fc.record({
      by: fc.constantFrom('us', 'peer'),
      times: fc.integer({ min: 1, max: 900 }),
      closed: fc.integer({ min: 0, max: 900 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 8 }), async (list) => {
        const [link, attacker] = duplexPair()
        attacker.on('error', () => undefined).resume()
        const open: MuxChannel[] = []
        const keep = (channel: MuxChannel) => open.push(channel.on('error', () => undefined))
        const mux = new Mux(link, { isFirst: true, onChannel: keep })
        let peerId = 5_000
        for (const { by, times, closed } of list) {
          // For the peer at most a burst, after which frames wait for their turn.
          const count = by === 'us' ? times : Math.min(times, 7)
          for (let i = 0; i < count; i++) {
            if (by === 'peer') link.push(frame((peerId += 2), FRAME.open))
            else if (open.length < MAX_CHANNELS) keep(mux.open(Buffer.alloc(0)))
            else
              expect(() => mux.open(Buffer.alloc(0))).toThrow(
                expect.objectContaining({ code: 'TOO_MANY_CHANNELS', kind: 'unavailable' }),
              )
          }
          await settled()
          expect(open.length).toBeLessThanOrEqual(MAX_CHANNELS)
          for (const channel of open.splice(0, closed)) channel.destroy()
          await settled()
        }
        expect(mux.isClosed).toBe(false)
        mux.close()
      }),
      { numRuns: 30, examples: [[[900, 900, 7].map((times) => ({ by: 'us', times, closed: 3 }))]] },
    )
  },
)

test('data received before the end of a connection is read, even while frames wait for their turn', async () => {
  const { channels, link, send } = attacked()
  const one = frame(1, FRAME.data, Buffer.alloc(1))
  send(...Array.from({ length: 20_000 }, () => one), frame(1, FRAME.end))
  await settled()
  link.destroy()
  let bytes = 0
  for await (const piece of channels[0] ?? []) bytes += (piece as Buffer).length
  expect(bytes).toBe(20_000)
})

test('B5 a message that arrives byte by byte is buffered in few pieces, complete and in order', () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251))
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at++) addPiece(pieces, bytes.subarray(at, at + 1))
  expect(pieces.length).toBeLessThan(110)
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
})

test('B5 data on a channel that only this side writes closes the connection', async () => {
  const { mux, send } = attacked()
  mux.channel(3, { isWriteOnly: true }).on('error', () => undefined)
  send(frame(3, FRAME.data, Buffer.alloc(1)))
  await settled()
  expect(mux.isClosed).toBe(true)
})

test('small pieces arrive in order, however many are waiting', async () => {
  const { channels, send } = attacked()
  const [channel] = channels
  const bytes = Buffer.from(Array.from({ length: 20_000 }, (_, i) => i % 251))
  for (let at = 0; at < bytes.length;) {
    const size = 1 + (at % 37)
    send(frame(1, FRAME.data, bytes.subarray(at, at + size)))
    at += size
  }
  send(frame(1, FRAME.end))
  await settled()
  const parts: Buffer[] = []
  for await (const part of channel ?? []) parts.push(part as Buffer)
  expect(Buffer.concat(parts).equals(bytes)).toBe(true)
})
