import { fc } from '../../support/fast-check.ts'
import { describe, expect, test } from 'vitest'
import {
  envelopeFromWire,
  envelopeToWire,
  type Envelope,
  type ReceivedEnvelope,
} from '../../../src/lib/envelope/envelope.ts'
import { encodeFrame, FrameDecoder, FrameFault } from '../../../src/lib/envelope/frames.ts'
import { readEnvelopes, readEnvelopesInJs } from '../../../src/native/net/envelopes.ts'
import { loadAddon } from '../../../src/native/load.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { rounds } from '../../support/rounds.ts'

const MAX = 1024
const envelope: Envelope = {
  id: uuidV7(1_000),
  namespace: 'demo',
  type: 'request',
  timestamp: '2026-01-01T00:00:00.000Z',
  payload: { text: 'ä', list: [1, 2.5, null, true], nested: { a: 'b' } },
}
/** Passes all pieces to a decoder; returns the messages as text, and the error at the end. */
function decodeAll(read: typeof readEnvelopes, pieces: readonly Buffer[]) {
  const taken: string[] = []
  const decoder = new FrameDecoder(
    MAX,
    (received, bytes) => taken.push(JSON.stringify([received, bytes])),
    read,
  )
  try {
    for (const piece of pieces) decoder.take(piece)
  } catch (error) {
    expect(error).toBeInstanceOf(FrameFault)
    return { taken, fault: (error as Error).message }
  }
  return { taken, fault: undefined }
}

/** Puts any bytes into a frame. */
function framed(body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length, 0)
  return Buffer.concat([length, body])
}

const payloads: readonly Envelope['payload'][] = [
  {},
  { text: 'ä€😀"\\\n\u0001\u007f', long: 'x'.repeat(300) },
  { numbers: [0, -1, 127, 128, -129, 65_536, -70_000, 2 ** 32, 2 ** 53 - 1, 1.5, -0, 1e300] },
  { nested: { list: [null, true, false, [[{}]]], 1: 'a digit', constructor: 'x' } },
]

test('the addon reads', () => expect(loadAddon()).toMatchObject({ is: 'loaded' }))

describe.each([
  ['the addon', readEnvelopes],
  ['JavaScript', readEnvelopesInJs],
])('%s', (_who, read) => {
  test('B4 200 frames are decoded however they are split', { tags: ['long'] }, () => {
    const frames = Array.from({ length: 200 }, (_, i) =>
      encodeFrame({ ...envelope, payload: { i, more: payloads[i % payloads.length] } }),
    )
    const bytes = Buffer.concat(frames)
    const { taken: whole } = decodeAll(read, [bytes])
    expect(whole).toHaveLength(200)
    let begin = 0
    for (const [i, frame] of frames.entries()) {
      const end = begin + frame.length + (frames[i + 1]?.length ?? 0)
      for (let at = begin; at < begin + frame.length; at++)
        expect(decodeAll(read, [bytes.subarray(begin, at), bytes.subarray(at, end)]).taken).toEqual(
          whole.slice(i, i + 2),
        )
      begin += frame.length
    }
    const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
    expect(decodeAll(read, single).taken).toEqual(whole)
  })

  test('B4 an invalid frame is refused, and the frames before it are delivered', () => {
    const good = encodeFrame(envelope)
    for (const [what, bytes] of [
      ['a length of nothing', Buffer.from([0, 0, 0, 0])],
      ['the largest length', Buffer.from([0xff, 0xff, 0xff, 0xff])],
      ['one over the limit', Buffer.from([0, 0, 4, 1])],
      ['MessagePack with trailing bytes', framed(Buffer.from([1, 2]))],
      ['MessagePack that is cut', framed(Buffer.from([0xda, 0xff]))],
      ['lists in lists without end', framed(Buffer.alloc(MAX, 0x91))],
      ['MessagePack without an envelope', framed(Buffer.from([0x80]))],
    ] as const) {
      const { taken, fault } = decodeAll(read, [Buffer.concat([good, bytes])])
      expect([taken.length, fault], what).toEqual([1, expect.stringContaining('a frame')])
    }
  })

  test('a frame of exactly the limit is accepted', () => {
    const room = MAX + 4 - encodeFrame({ ...envelope, payload: { text: 'x'.repeat(300) } }).length
    const frame = encodeFrame({ ...envelope, payload: { text: 'x'.repeat(300 + room) } })
    expect(frame.readUInt32BE(0)).toBe(MAX)
    expect(decodeAll(read, [frame]).taken).toHaveLength(1)
  })

  test('a payload is equivalent JSON, including a time in milliseconds', () => {
    for (const payload of payloads) {
      const received: ReceivedEnvelope[] = []
      const decoder = new FrameDecoder(MAX, (each) => received.push(each), read)
      decoder.take(encodeFrame({ ...envelope, payload }))
      expect(received[0]?.payloadJson).toBe(JSON.stringify(payload))
    }
  })
})

describe('B4 the addon accepts the same as JavaScript', () => {
  const same = (bytes: Buffer): void => {
    expect(decodeAll(readEnvelopes, [bytes])).toEqual(decodeAll(readEnvelopesInJs, [bytes]))
  }

  test('for any payload', () => {
    const payload = fc.dictionary(
      fc.string({ unit: 'grapheme' }),
      fc.anything({ withDate: true, withBigInt: false, withNullPrototype: true, withTypedArray: true }),
    )
    fc.assert(
      fc.property(payload, (any) => {
        same(encodeFrame({ ...envelope, payload: any }))
      }),
      { numRuns: rounds(600, 3_000) },
    )
  })

  test('for envelopes with changed bytes', { tags: ['long'] }, () => {
    const frames = payloads.map((payload) => encodeFrame({ ...envelope, payload }))
    const change = fc.record({
      frame: fc.constantFrom(...frames),
      at: fc.nat(),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 3 }),
      isInserted: fc.boolean(),
    })
    fc.assert(
      fc.property(change, ({ frame, at, bytes, isInserted }) => {
        const place = 4 + (at % (frame.length - 4))
        const rest = frame.subarray(place + (isInserted ? 0 : bytes.length))
        same(framed(Buffer.concat([frame.subarray(4, place), bytes, rest])))
      }),
      { numRuns: rounds(4_000, 20_000) },
    )
  })
})

test('an envelope is transferred unchanged, with the specification’s names', () => {
  const response: Envelope = { ...envelope, type: 'response', inReplyTo: uuidV7(2_000), isFinal: false }
  for (const each of [envelope, response]) expect(envelopeFromWire(envelopeToWire(each))).toEqual(each)
  expect(envelopeToWire(response)).toMatchObject({ in_reply_to: response.inReplyTo, final: false })
  expect(envelopeFromWire({ ...envelope, workspace: { name: 'forged' } })).toEqual(envelope)
})

test.each([
  ['a number', 7],
  ['a list', []],
  ['another kind of id', { ...envelope, id: '1' }],
  ['a namespace with a line break', { ...envelope, namespace: 'a\nb' }],
  ['a namespace of 129 characters', { ...envelope, namespace: 'x'.repeat(129) }],
  ['an unknown type', { ...envelope, type: 'other' }],
  ['a payload that is a list', { ...envelope, payload: [1] }],
  ['a response to nothing', { ...envelope, type: 'response' }],
  ['an endless timestamp', { ...envelope, timestamp: 'x'.repeat(1000) }],
])('B3 B6 %s is not a valid envelope', (_what, value) => {
  expect(envelopeFromWire(value)).toBeUndefined()
})

test('identifiers sort by their time and are of version 7', () => {
  const ids = [1, 1_000, 1_700_000_000_000, 2_000_000_000_000].map(uuidV7)
  expect(ids.toSorted()).toEqual(ids)
  expect(uuidV7(0x0123456789ab)).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
