import { fc } from '../../support/fast-check.ts'
import { duplexPair, type Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { encodeFrame, FRAME, MAX_FRAME_BYTES, MAX_PAYLOAD_BYTES } from '../../../src/lib/mux/frame.ts'
import { Mux } from '../../../src/lib/mux/mux.ts'
import { MarkScanner, serveSerial } from '../../../src/lib/mux/serial.ts'
import { waitFor } from '../../support/wait-for.ts'
import { rounds } from '../../support/rounds.ts'

const WORD = Buffer.from('9f1c77f0workspaceBEGIN', 'latin1')
const NUMBER = Buffer.from('0123456789abcdef')
const mark = Buffer.concat([Buffer.alloc(MAX_FRAME_BYTES), WORD, NUMBER])

function scan(pieces: readonly Buffer[]): { marks: number; bytes: Buffer } {
  const scanner = new MarkScanner()
  const found = pieces.flatMap((piece) => scanner.take(piece))
  return {
    marks: found.filter((part) => !Buffer.isBuffer(part) && part.number.equals(NUMBER)).length,
    bytes: Buffer.concat(found.filter((part) => Buffer.isBuffer(part))),
  }
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  )
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end))
}

test('a mark is found however the bytes in and around it are split', () => {
  const around = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))
  // Half of the cuts fall within the mark.
  const place = fc.oneof(
    fc.nat(mark.length + 120),
    fc.integer({ min: MAX_FRAME_BYTES - 5, max: mark.length + 60 }),
  )
  fc.assert(
    fc.property(around, around, fc.array(place, { maxLength: 9 }), (before, after, places) => {
      const { marks, bytes } = scan(cut(Buffer.concat([before, mark, after]), places))
      expect(marks).toBe(1)
      expect(bytes.subarray(bytes.length - after.length)).toEqual(after)
    }),
    { numRuns: rounds(40, 200) },
  )
})

test('consecutive marks are all found', () => {
  expect(scan([Buffer.concat([mark, mark, mark])]).marks).toBe(3)
  expect(scan([mark, mark.subarray(0, 1), mark.subarray(1), mark]).marks).toBe(3)
})

test('a mark is found after a frame that was never finished', () => {
  const frame = Buffer.concat(encodeFrame(1, FRAME.data, Buffer.alloc(MAX_PAYLOAD_BYTES, 7)))
  expect(scan([frame.subarray(0, 20), mark]).marks).toBe(1)
})

test('B4 frames never contain a mark, for any payload', () => {
  const inside = mark.subarray(0, MAX_PAYLOAD_BYTES)
  const rest = mark.subarray(MAX_PAYLOAD_BYTES)
  const frames = [inside, rest].flatMap((payload) => encodeFrame(0, FRAME.data, payload))
  const { marks, bytes } = scan([Buffer.concat(frames)])
  expect(marks).toBe(0)
  expect(bytes).toEqual(Buffer.concat(frames))
})

/** Creates a line whose two ends can be replaced. */
function line() {
  const [left, right] = duplexPair()
  return { left, right }
}

function echoing(right: Duplex): () => void {
  return serveSerial(right, 'second', (session) => {
    const mux = new Mux(session, {
      isFirst: false,
      onChannel: (channel) => channel.on('error', () => undefined).pipe(channel),
    })
    session.once('close', () => mux.close())
  })
}

function sessionsOf(left: Duplex) {
  const waiting: ((mux: Mux) => void)[] = []
  const stop = serveSerial(left, 'first', (session) => waiting.shift()?.(new Mux(session, { isFirst: true })))
  return { next: () => new Promise<Mux>((resolve) => waiting.push(resolve)), stop }
}

async function echoed(mux: Mux): Promise<string> {
  const channel = mux.open(Buffer.alloc(0))
  channel.end('over the line')
  return text(channel)
}

test('a session starts in either order of connecting', async () => {
  for (const order of ['first', 'second']) {
    const { left, right } = line()
    const stops: (() => void)[] = []
    if (order === 'second') stops.push(echoing(right))
    const sessions = sessionsOf(left)
    const next = sessions.next()
    if (order === 'first') stops.push(echoing(right))
    expect(await echoed(await next)).toBe('over the line')
    for (const stop of [...stops, sessions.stop]) stop()
  }
})

test('F19 a new session starts when either side is replaced in the middle of a frame', async () => {
  // The remaining ends are connected manually, as a monitor connects a port with any client.
  const { left, right } = line()
  const host = (): { end: Duplex; unplug: () => void } => {
    const [near, far] = duplexPair()
    const down = (chunk: Buffer): void => void left.write(chunk)
    const up = (chunk: Buffer): void => void far.write(chunk)
    far.on('data', down)
    left.on('data', up)
    return { end: near, unplug: () => (far.off('data', down), left.off('data', up)) }
  }
  const stopEcho = echoing(right)
  const before = host()
  const sessions = sessionsOf(before.end)
  expect(await echoed(await sessions.next())).toBe('over the line')
  before.unplug()
  left.write(Buffer.concat(encodeFrame(1003, FRAME.data, Buffer.alloc(1000))).subarray(0, 100))
  sessions.stop()
  const after = host()
  const again = sessionsOf(after.end)
  expect(await echoed(await again.next())).toBe('over the line')
  again.stop()
  stopEcho()
})

test(
  'F19 a session starts even if a response takes longer than the first retry',
  { tags: ['long'] },
  async () => {
    const LATENCY_MS = 700
    const [left, farLeft] = duplexPair()
    const [right, farRight] = duplexPair()
    farLeft.on('data', (chunk: Buffer) => setTimeout(() => farRight.write(chunk), LATENCY_MS))
    farRight.on('data', (chunk: Buffer) => setTimeout(() => farLeft.write(chunk), LATENCY_MS))
    const stopEcho = echoing(right)
    const sessions = sessionsOf(left)
    expect(await echoed(await sessions.next())).toBe('over the line')
    sessions.stop()
    stopEcho()
  },
)

test.each(['the first', 'the second'])(
  'a session that breaks on %s side is followed by another',
  async (side) => {
    const { left, right } = line()
    const stopEcho = echoing(right)
    const sessions = sessionsOf(left)
    const mux = await sessions.next()
    expect(await echoed(mux)).toBe('over the line')
    const again = sessions.next()
    // No valid frame starts like this.
    ;(side === 'the first' ? right : left).write(Buffer.alloc(100, 0xff))
    expect(await echoed(await again)).toBe('over the line')
    expect(mux.isClosed).toBe(true)
    sessions.stop()
    stopEcho()
  },
)

test('B5 repeated session requests from a side that reads nothing are not all answered', async () => {
  const { left, right } = line()
  const stop = serveSerial(left, 'first', () => undefined)
  const hello = Buffer.concat([
    Buffer.alloc(MAX_FRAME_BYTES),
    Buffer.from('9f1c77f0workspaceHELLO', 'latin1'),
    NUMBER,
  ])
  for (let i = 0; i < 50; i++) right.write(hello)
  await waitFor('the marks to be read', () => right.writableLength === 0)
  expect(left.writableLength).toBeLessThan(4 * mark.length)
  stop()
})
