import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Mux } from '../../../src/lib/mux/mux.ts'
import { REPLAY_BYTES, ResumableStream } from '../../../src/lib/mux/resumable-stream.ts'
import { briefLink } from '../../support/brief-link.ts'
import { type Random, randomFor } from '../../support/differential/random.ts'
import { readAll } from '../../support/read-all.ts'
import { SEED } from '../../support/seed.ts'

const PATIENCE_MS = 60_000
let breaks = 0

/** Two sides and the link between them. */
function sides(patienceMs = PATIENCE_MS, pingMs?: number) {
  let onLost = (): void => undefined
  const side = (more: { readonly pingMs?: number } = {}): ResumableStream =>
    new ResumableStream({ patienceMs, onLost: () => onLost(), ...more }).on('error', () => undefined)
  const [here, there] = [side(pingMs === undefined ? {} : { pingMs }), side()]
  let ends: readonly Duplex[] = []
  const attach = (left: Duplex, right: Duplex): void => {
    const confirmed = [there.receivedBytes, here.receivedBytes] as const
    here.attach(left, confirmed[0])
    there.attach(right, confirmed[1])
  }
  return {
    here,
    there,
    cut: () => ends.forEach((end) => end.destroy()),
    connect: (): void => {
      ends = duplexPair()
      attach(...(ends as [Duplex, Duplex]))
    },
    /** Connects by links that break after some bytes, one after the other. Returns how many have broken. */
    connectBriefly: (random: Random, mostBytes: number): (() => number) => {
      let cuts = 0
      let isWaiting = false
      const connect = (): void => {
        isWaiting = false
        // Both have received everything when one is done, but the other may never learn it.
        if (here.destroyed || there.destroyed) return [here, there].forEach(destroyOnceRead)
        attach(...briefLink(random, mostBytes))
      }
      onLost = () => {
        if (isWaiting) return
        isWaiting = true
        cuts += 1
        void setImmediate().then(connect)
      }
      connect()
      return () => cuts
    },
  }
}

function destroyOnceRead(stream: Duplex): void {
  if (stream.readableEnded) stream.destroy()
  else stream.once('end', () => stream.destroy())
}

/** Random chunks: many small ones, some large. */
function chunksOf(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunks.at(-1)?.length ?? 0) {
    const most = random.below(10) === 0 ? 200_000 : 300
    chunks.push(bytes.subarray(at, at + 1 + random.below(most)))
  }
  return chunks
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

test.each(Array.from({ length: 20 }, (_, i) => i))(
  'F38 no byte is lost or repeated when links break at any byte (history %i)',
  async (number) => {
    const random = randomFor(SEED, number)
    const { here, there, connectBriefly } = sides()
    const sent = [randomBytes(random.below(4_000_000)), randomBytes(random.below(4_000_000))] as const
    const cuts = connectBriefly(random, 10 ** (2 + random.below(4)) + (sent[0].length + sent[1].length) / 100)
    const [receivedHere, receivedThere] = await Promise.all([
      readAll(here),
      readAll(there),
      pipeline(Readable.from(chunksOf(random, sent[0])), here).catch(() => undefined),
      pipeline(Readable.from(chunksOf(random, sent[1])), there).catch(() => undefined),
    ])
    expect(receivedThere.length).toBe(sent[0].length)
    expect([hash(receivedThere), hash(receivedHere)]).toEqual(sent.map(hash))
    breaks += cuts()
  },
)

test('the links of the histories above broke', () => {
  expect(breaks).toBeGreaterThan(100)
})

test('channels of a connection continue over another link', async () => {
  const { here, there, connect, cut } = sides()
  connect()
  const [first, second] = [new Mux(here, { isFirst: true }), new Mux(there, { isFirst: false })]
  const [left, right] = [first.channel(1), second.channel(1)]
  left.write('before ')
  await once(right, 'readable')
  cut()
  left.end('after')
  connect()
  expect(await text(right)).toBe('before after')
})

test('without a link, a writer waits once the bytes that can be replayed are full', async () => {
  const { here, there, connect } = sides()
  let written = 0
  for (let i = 0; i < 32; i++) here.write(Buffer.alloc(REPLAY_BYTES / 8), () => (written += 1))
  await setImmediate()
  const before = written
  expect(before).toBeLessThanOrEqual(9)
  connect()
  here.end()
  expect((await readAll(there)).length).toBe(4 * REPLAY_BYTES)
})

test('a link that does not come back ends the stream after its patience', async () => {
  const { here, connect, cut } = sides(20)
  connect()
  cut()
  const [error] = await once(here, 'error')
  expect(error).toMatchObject({ message: 'the connection was lost' })
})

test('a side that closes ends the other one, which can read what arrived', async () => {
  const { here, there, connect } = sides()
  connect()
  here.write('last')
  await setImmediate()
  here.destroy()
  expect(await text(there)).toBe('last')
  there.write('ignored')
  there.end()
  if (!there.closed) await once(there, 'close')
})

test('the end of a stream counts as delivered only when the other side has it', async () => {
  const { here, there, connect, cut } = sides()
  connect()
  cut()
  let isFinished = false
  here.end('x', () => (isFinished = true))
  await setImmediate()
  expect(isFinished).toBe(false)
  connect()
  expect(await text(there)).toBe('x')
  if (!here.writableFinished) await once(here, 'finish')
  expect(isFinished).toBe(true)
})

test('a link whose other side gives no sign of life counts as broken', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const stream = new ResumableStream({ patienceMs: PATIENCE_MS, pingMs: 1_000 })
  const [link] = duplexPair()
  stream.attach(link, 0)
  vi.advanceTimersByTime(1_999)
  expect(link.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(link.destroyed).toBe(true)
  stream.destroy()
})

test('a slow link stays while anything arrives, although a ping has no answer yet', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const stream = new ResumableStream({ patienceMs: PATIENCE_MS, pingMs: 1_000 })
  const [link, peer] = duplexPair()
  stream.attach(link, 0)
  let read = 0
  stream.on('data', (bytes: Buffer) => (read += bytes.length))
  for (let i = 0; i < 10; i++) {
    vi.advanceTimersByTime(1_000)
    peer.write(Buffer.concat([header(1, 1), Buffer.from('x')]))
    for (let turn = 0; turn < 4; turn++) await setImmediate()
  }
  expect(read).toBe(10)
  // One ping, however long it takes.
  expect(peer.readableLength).toBe(7)
  peer.write(header(6, 0))
  for (let turn = 0; turn < 4; turn++) await setImmediate()
  vi.advanceTimersByTime(1_000)
  expect(link.destroyed).toBe(false)
  stream.destroy()
})

test('an answer to a ping after other confirmations is valid', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { here, there, connect } = sides(PATIENCE_MS, 1_000)
  connect()
  there.resume()
  for (let i = 0; i < 20; i++) {
    here.write(Buffer.alloc(100_000))
    vi.advanceTimersByTime(1_000)
    here.write(Buffer.alloc(100_000))
    for (let turn = 0; turn < 6; turn++) await setImmediate()
  }
  expect(here.destroyed).toBe(false)
  expect(there.receivedBytes).toBe(4_000_000)
})

test('a link whose other side answers stays, although nothing is sent', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const here = new ResumableStream({ patienceMs: PATIENCE_MS, pingMs: 1_000 })
  const there = new ResumableStream({ patienceMs: PATIENCE_MS })
  const [left, right] = duplexPair()
  here.attach(left, 0)
  there.attach(right, 0)
  for (let i = 0; i < 10; i++) {
    vi.advanceTimersByTime(1_000)
    // Both directions of the link.
    for (let turn = 0; turn < 4; turn++) await setImmediate()
  }
  expect(left.destroyed).toBe(false)
  here.end('x')
  expect(await text(there)).toBe('x')
})

test('the side that is asked takes a link on which the pings have stopped for broken', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stream = new ResumableStream({ patienceMs: PATIENCE_MS }).on('error', () => undefined)
  const [link, peer] = duplexPair()
  stream.attach(link, 0)
  stream.resume()
  const pass = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    for (let turn = 0; turn < 4; turn++) await setImmediate()
  }
  // An older server never pings.
  await pass(3_600_000)
  expect(link.destroyed).toBe(false)
  for (let i = 0; i < 10; i++) {
    peer.write(header(5, 0))
    await pass(15_000)
  }
  expect(link.destroyed).toBe(false)
  await pass(30_000)
  expect(link.destroyed).toBe(true)
  await pass(PATIENCE_MS)
  expect(stream.destroyed).toBe(true)
})

test('a link that is not read is not taken for broken by either side', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const here = new ResumableStream({ patienceMs: PATIENCE_MS, pingMs: 15_000 })
  const there = new ResumableStream({ patienceMs: PATIENCE_MS })
  const [left, right] = duplexPair()
  here.attach(left, 0)
  there.attach(right, 0)
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      vi.advanceTimersByTime(1_000)
      for (let turn = 0; turn < 4; turn++) await setImmediate()
    }
  }
  await pass(20_000)
  for (const side of [here, there]) side.write(Buffer.alloc(500_000))
  await pass(600_000)
  expect([left.destroyed, right.destroyed]).toEqual([false, false])
  for (const side of [here, there]) side.end()
  expect(await Promise.all([text(here), text(there)])).toEqual(['\0'.repeat(500_000), '\0'.repeat(500_000)])
})

const header = (kind: number, number: number): Buffer => {
  const bytes = Buffer.alloc(7)
  bytes.writeUInt8(kind, 0)
  bytes.writeUIntBE(number, 1, 6)
  return bytes
}

test.each([
  ['an unknown kind', header(9, 1)],
  ['data of no bytes', header(1, 0)],
  ['a confirmation of what was not sent', header(2, 7)],
  ['a confirmation that confirms nothing', header(2, 0)],
  ['data after the end', Buffer.concat([header(3, 0), header(1, 1), Buffer.from('x')])],
  ['a ping of the side that is asked', header(5, 0)],
  ['an answer to no ping', header(6, 0)],
  ['two ends', Buffer.concat([header(3, 0), header(3, 0)])],
])('%s destroys the stream', async (_what, bytes) => {
  const stream = new ResumableStream({ patienceMs: PATIENCE_MS, pingMs: PATIENCE_MS })
  const [link, peer] = duplexPair()
  const failed = once(stream, 'error')
  stream.attach(link, 0)
  peer.write(bytes)
  const [error] = await failed
  expect(String(error)).toContain('the other side of a resumable stream')
})

test.each([-1, 1, Number.NaN])(
  'a resumption that confirms %d bytes of none destroys the stream',
  async (confirmed) => {
    const stream = new ResumableStream({ patienceMs: PATIENCE_MS })
    const failed = once(stream, 'error')
    stream.attach(duplexPair()[0], confirmed)
    expect(await failed).toEqual([expect.any(Error)])
  },
)
