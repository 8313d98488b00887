import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import {
  BrokenFrame,
  encodeFrame,
  FRAME,
  type Frame,
  FrameReader,
  MAX_PAYLOAD_BYTES,
} from '../../../src/lib/mux/frame.ts'
import { rounds } from '../../support/rounds.ts'

const KINDS = Object.values(FRAME)

function bytesOf(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.flatMap(({ channel, kind, payload }) => encodeFrame(channel, kind, payload)))
}

function take(reader: FrameReader, bytes: Buffer): readonly Frame[] {
  reader.add(bytes)
  const frames: Frame[] = []
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame)
  return frames
}

test('B4 frames are decoded completely and in order however their bytes are split', () => {
  const frame = fc.record({
    channel: fc.nat(0xffff_ffff),
    kind: fc.constantFrom(...KINDS),
    payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  })
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 12 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
      (frames, sizes) => {
        const reader = new FrameReader()
        const taken: Frame[] = []
        for (let rest = bytesOf(frames); rest.length > 0;) {
          const size = sizes.next().value ?? 1
          taken.push(...take(reader, rest.subarray(0, size)))
          rest = rest.subarray(size)
        }
        expect(taken).toEqual(frames)
      },
    ),
    { numRuns: rounds(60, 300) },
  )
})

test('B4 two frames are decoded for every way to cut their bytes in two', () => {
  const frames: Frame[] = [
    { channel: 7, kind: FRAME.data, payload: Buffer.from('first') },
    { channel: 8, kind: FRAME.end, payload: Buffer.alloc(0) },
  ]
  const bytes = bytesOf(frames)
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new FrameReader()
    expect([...take(reader, bytes.subarray(0, at)), ...take(reader, bytes.subarray(at))]).toEqual(frames)
  }
})

test.each([
  ['an unknown kind', Buffer.from([0, 0, 0, 1, 9, 0, 0, 0, 0xa5])],
  ['kind 0', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0xa5])],
  ['a length over the limit', Buffer.from([0, 0, 0, 1, 2, 0xff, 0xff, 0xff])],
  ['a wrong last byte', Buffer.from([0, 0, 0, 1, 2, 0, 0, 1, 0x61, 0])],
])('B4 %s is refused', (_what, bytes) => {
  expect(() => take(new FrameReader(), bytes)).toThrow(BrokenFrame)
})

test('B4 the longest payload passes, and a longer one is refused before it arrives', () => {
  const longest = { channel: 1, kind: FRAME.data, payload: Buffer.alloc(MAX_PAYLOAD_BYTES, 1) }
  expect(take(new FrameReader(), bytesOf([longest]))).toEqual([longest])
  const header = Buffer.from([0, 0, 0, 1, 2, 1, 0, 1])
  expect(() => take(new FrameReader(), header)).toThrow(/65537 bytes exceeds the limit/)
})

/** Decodes frames the simple way, from all bytes at once; an invalid rest becomes undefined. */
function readSlowly(bytes: Buffer): readonly (Frame | undefined)[] {
  const frames: (Frame | undefined)[] = []
  for (let at = 0; bytes.length - at >= 8;) {
    const [channel, kind, length] = [bytes.readUInt32BE(at), bytes[at + 4] ?? 0, bytes.readUIntBE(at + 5, 3)]
    if (!KINDS.includes(kind as Frame['kind']) || length > MAX_PAYLOAD_BYTES) return [...frames, undefined]
    const end = at + 8 + length
    if (bytes.length <= end) break
    if (bytes[end] !== 0xa5) return [...frames, undefined]
    frames.push({ channel, kind: kind as Frame['kind'], payload: bytes.subarray(at + 8, end) })
    at = end + 1
  }
  return frames
}

test('B4 mutated streams of frames, in any pieces, are decoded up to the first invalid frame', () => {
  const frame = fc.record({
    channel: fc.constantFrom(0, 1, 1000, 0xffff_ffff),
    kind: fc.constantFrom(...KINDS),
    payload: fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
  })
  const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  const mutation = fc.oneof(
    fc.record({ how: fc.constant('flip' as const), place, byte: fc.integer({ min: 1, max: 255 }) }),
    fc.record({
      how: fc.constant('insert' as const),
      place,
      bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
    }),
    fc.record({ how: fc.constant('remove' as const), place, count: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ how: fc.constant('repeat' as const), place, count: fc.integer({ min: 1, max: 30 }) }),
  )
  const mutated = (
    bytes: Buffer,
    change: typeof mutation extends fc.Arbitrary<infer T> ? T : never,
  ): Buffer => {
    const at = Math.floor(change.place * bytes.length)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    if (change.how === 'insert') return Buffer.concat([before, change.bytes, after])
    if (change.how === 'remove') return Buffer.concat([before, after.subarray(change.count)])
    if (change.how === 'repeat') return Buffer.concat([before, after.subarray(0, change.count), after])
    return Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ change.byte]), after.subarray(1)])
  }
  // A failure prints its seed and path, with which fast-check can replay it.
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 8 }),
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 60 })),
      (frames, mutations, sizes) => {
        const bytes = mutations.reduce(mutated, bytesOf(frames))
        const reader = new FrameReader()
        const taken: (Frame | undefined)[] = []
        try {
          for (let rest = bytes; rest.length > 0;) {
            const size = sizes.next().value ?? 1
            reader.add(rest.subarray(0, size))
            for (let next = reader.next(); next !== undefined; next = reader.next()) taken.push(next)
            rest = rest.subarray(size)
          }
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenFrame)
          taken.push(undefined)
        }
        expect(taken).toEqual(readSlowly(bytes))
      },
    ),
    { numRuns: rounds(1_000, 5_000) },
  )
})
