import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { duplexPair, type Duplex, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { WINDOW_BYTES } from '../../../src/lib/mux/channel.ts'
import { encodeFrame, FRAME } from '../../../src/lib/mux/frame.ts'
import { Mux } from '../../../src/lib/mux/mux.ts'

function pair(onChannel?: (channel: Duplex, greeting: Buffer) => void) {
  const [left, right] = duplexPair()
  return {
    links: [left, right] as const,
    first: new Mux(left, { isFirst: true }),
    second: new Mux(right, { isFirst: false, ...(onChannel && { onChannel }) }),
  }
}

test('a channel carries bytes both ways, and stays open in one direction after the other has ended', async () => {
  const { first, second } = pair()
  const [here, there] = [first.channel(1), second.channel(1)]
  here.end('question')
  expect(await text(there)).toBe('question')
  there.end('answer')
  expect(await text(here)).toBe('answer')
})

test('many channels carry megabytes in parallel without loss', async () => {
  const { first } = pair((channel) => void pipeline(channel, channel).catch(() => undefined))
  const sent = Array.from({ length: 20 }, () => randomBytes(1024 * 1024 + 17))
  const received = await Promise.all(
    sent.map(async (bytes) => {
      const channel = first.open(Buffer.alloc(0))
      void pipeline(Readable.from(slices(bytes)), channel).catch(() => undefined)
      return buffer(channel)
    }),
  )
  expect(received.map(hash)).toEqual(sent.map(hash))
})

test('an unread channel blocks no other, and buffers at most its window', async () => {
  const { first, second } = pair()
  const unread = second.channel(1)
  const stuck = first.channel(1)
  const [here, there] = [first.channel(2), second.channel(2)]
  stuck.write(Buffer.alloc(8 * WINDOW_BYTES))
  here.end('passes')
  expect(await text(there)).toBe('passes')
  expect(stuck.writableNeedDrain).toBe(true)
  expect(unread.readableLength).toBeLessThanOrEqual(WINDOW_BYTES)
})

test('a reader that starts late gets everything', async () => {
  const { first, second } = pair()
  const bytes = randomBytes(4 * WINDOW_BYTES)
  const [here, there] = [first.channel(1), second.channel(1)]
  here.end(bytes)
  await once(there, 'readable')
  expect(hash(await buffer(there))).toBe(hash(bytes))
})

test('F17 a channel aborted on one side fails on the other', async () => {
  const { first, second } = pair()
  const [here, there] = [first.channel(1), second.channel(1)]
  here.on('error', () => undefined)
  there.resume()
  here.destroy()
  await expect(once(there, 'end')).rejects.toThrow(/reset by the other side/)
})

test('F17 the end of the connection fails unfinished channels, but finished ones can still be read', async () => {
  const { first, second, links } = pair()
  const [whole, cut] = [second.channel(1), second.channel(2)]
  const senders = [first.channel(1), first.channel(2)].map((channel) => channel.on('error', () => undefined))
  senders[0]?.end('all of it')
  senders[1]?.write('a part')
  await once(whole, 'readable')
  const failed = once(cut, 'close').catch((error: unknown) => error)
  links[1].destroy()
  expect(await text(whole)).toBe('all of it')
  expect(await failed).toMatchObject({ code: 'ECONNRESET' })
})

test('B4 exceeding a window closes the connection', async () => {
  const [left, right] = duplexPair()
  const mux = new Mux(right, { isFirst: false })
  mux.channel(1).on('error', () => undefined)
  left.on('error', () => undefined)
  for (let sent = 0; sent <= WINDOW_BYTES * 2; sent += 65_536)
    for (const piece of encodeFrame(1, FRAME.data, Buffer.alloc(65_536))) left.write(piece)
  await closed(right)
  expect(mux.isClosed).toBe(true)
})

test('B4 invalid frames close the connection', async () => {
  const [left, right] = duplexPair()
  const mux = new Mux(right, { isFirst: false })
  left.write('GET / HTTP/1.1\r\n\r\n')
  await closed(right)
  expect(mux.isClosed).toBe(true)
})

test('an unexpected channel is refused', async () => {
  const { first } = pair()
  const channel = first.open(Buffer.from('hello'))
  channel.resume()
  await expect(once(channel, 'end')).rejects.toThrow(/reset by the other side/)
})

test('a channel delivers its greeting', async () => {
  const greeted = Promise.withResolvers<string>()
  const { first } = pair((_channel, greeting) => greeted.resolve(greeting.toString()))
  first.open(Buffer.from('hello'))
  expect(await greeted.promise).toBe('hello')
})

function closed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => void stream.on('error', () => undefined).once('close', resolve))
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000)
}
