import { expect, test } from 'vitest'
import { envelopeFromWire, envelopeToWire, type Envelope } from '../../../src/lib/envelope/envelope.ts'
import { encodeFrame, FrameDecoder, FrameFault } from '../../../src/lib/envelope/frames.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'

const MAX = 1024
const envelope: Envelope = {
  id: uuidV7(1_000),
  namespace: 'demo',
  type: 'request',
  timestamp: '2026-01-01T00:00:00.000Z',
  payload: { text: 'ä', list: [1, 2.5, null, true], nested: { a: 'b' } },
}
const valuesOf = (decoder: FrameDecoder, pieces: readonly Buffer[]) =>
  pieces.flatMap((piece) => decoder.take(piece).map(({ value }) => value))

test('B4 200 frames are the same however they are split', () => {
  const values = Array.from({ length: 200 }, (_, i) => ({ i, text: 'x'.repeat(i % 5) }))
  const bytes = Buffer.concat(values.map(encodeFrame))
  const json = JSON.stringify(values)
  for (let at = 1; at < bytes.length; at++)
    expect(JSON.stringify(valuesOf(new FrameDecoder(MAX), [bytes.subarray(0, at), bytes.subarray(at)]))).toBe(
      json,
    )
  const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
  expect(valuesOf(new FrameDecoder(MAX), single)).toEqual(values)
})

test.each([
  ['a length of nothing', Buffer.from([0, 0, 0, 0])],
  ['the largest length', Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ['one over the bound', Buffer.from([0, 0, 4, 1])],
  ['MessagePack with more behind it', Buffer.from([0, 0, 0, 2, 1, 2])],
  ['MessagePack that is cut', Buffer.from([0, 0, 0, 2, 0xda, 0xff])],
])('B4 %s is refused with what is held', (_what, bytes) => {
  expect(() => new FrameDecoder(MAX).take(bytes)).toThrow(FrameFault)
})

test('a frame of just the bound is taken', () => {
  const value = 'x'.repeat(MAX - 3)
  const frame = encodeFrame(value)
  expect(frame.readUInt32BE(0)).toBe(MAX)
  expect(new FrameDecoder(MAX).take(frame)).toEqual([{ value, bytes: MAX }])
})

test('an envelope comes over the wire as it was, by the specification’s names', () => {
  const response: Envelope = { ...envelope, type: 'response', inReplyTo: uuidV7(2_000), isFinal: false }
  for (const each of [envelope, response]) expect(envelopeFromWire(envelopeToWire(each))).toEqual(each)
  expect(envelopeToWire(response)).toMatchObject({ in_reply_to: response.inReplyTo, final: false })
  expect(envelopeFromWire({ ...envelope, workspace: { name: 'forged' } })).toEqual(envelope)
})

test.each([
  ['no object', 7],
  ['a list', []],
  ['another kind of id', { ...envelope, id: '1' }],
  ['a namespace with a line break', { ...envelope, namespace: 'a\nb' }],
  ['a namespace of 129 characters', { ...envelope, namespace: 'x'.repeat(129) }],
  ['an unknown type', { ...envelope, type: 'other' }],
  ['a payload that is no object', { ...envelope, payload: [1] }],
  ['a response to nothing', { ...envelope, type: 'response' }],
  ['an endless timestamp', { ...envelope, timestamp: 'x'.repeat(1000) }],
])('B3 B6 %s is no envelope', (_what, value) => {
  expect(envelopeFromWire(value)).toBeUndefined()
})

test('identifiers sort by their time and are of version 7', () => {
  const ids = [1, 1_000, 1_700_000_000_000, 2_000_000_000_000].map(uuidV7)
  expect(ids.toSorted()).toEqual(ids)
  expect(uuidV7(0x0123456789ab)).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
