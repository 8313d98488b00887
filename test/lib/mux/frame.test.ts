import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BrokenFrame,
  encodeFrame,
  FRAME,
  type Frame,
  FrameReader,
  MAX_PAYLOAD_BYTES,
} from '../../../src/lib/mux/frame.ts'

const KINDS = Object.values(FRAME)

function bytesOf(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.flatMap(({ channel, kind, payload }) => encodeFrame(channel, kind, payload)))
}

test('B4 frames come out whole and in order however their bytes are split', () => {
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
          taken.push(...reader.take(rest.subarray(0, size)))
          rest = rest.subarray(size)
        }
        expect(taken).toEqual(frames)
      },
    ),
    { numRuns: 300 },
  )
})

test('B4 two frames come out at each place where their bytes can be cut in two', () => {
  const frames: Frame[] = [
    { channel: 7, kind: FRAME.data, payload: Buffer.from('first') },
    { channel: 8, kind: FRAME.end, payload: Buffer.alloc(0) },
  ]
  const bytes = bytesOf(frames)
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new FrameReader()
    expect([...reader.take(bytes.subarray(0, at)), ...reader.take(bytes.subarray(at))]).toEqual(frames)
  }
})

test.each([
  ['a kind that there is none of', Buffer.from([0, 0, 0, 1, 9, 0, 0, 0, 0xa5])],
  ['kind 0', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0xa5])],
  ['a length over the limit', Buffer.from([0, 0, 0, 1, 2, 0xff, 0xff, 0xff])],
  ['another last byte', Buffer.from([0, 0, 0, 1, 2, 0, 0, 1, 0x61, 0])],
])('B4 %s is refused', (_what, bytes) => {
  expect(() => new FrameReader().take(bytes)).toThrow(BrokenFrame)
})

test('B4 the longest payload passes, and a longer one is refused before it has come', () => {
  const longest = { channel: 1, kind: FRAME.data, payload: Buffer.alloc(MAX_PAYLOAD_BYTES, 1) }
  expect(new FrameReader().take(bytesOf([longest]))).toEqual([longest])
  const header = Buffer.from([0, 0, 0, 1, 2, 1, 0, 1])
  expect(() => new FrameReader().take(header)).toThrow(/65537 bytes is over the limit/)
})
