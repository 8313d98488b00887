import { encodeFrame, FrameDecoder } from '../../src/lib/envelope/frames.ts'
import { readEnvelopes, readEnvelopesInJs } from '../../src/native/net/envelopes.ts'
import type { Bench } from '../harness.ts'

const BYTES = 32 * 2 ** 20
const SHAPES = [
  { name: '200 B, one per read', payloadBytes: 200, atOnce: 1 },
  { name: '200 B, as many as fit in a read of 64 KiB', payloadBytes: 200, atOnce: 170 },
  { name: '16 KiB, one per read', payloadBytes: 16 * 1024, atOnce: 1 },
  { name: '16 KiB, four per read', payloadBytes: 16 * 1024, atOnce: 4 },
]

const bench: Bench = {
  note:
    'From the bytes of a connection to validated envelopes with their payloads as JSON for a listener: the addon compared with its JavaScript fallback ' +
    '(msgpackr and JSON.stringify). A thousand mostly idle connections send one frame per read: then calling the addon and converting its result, ' +
    'not parsing, takes most of the time.',

  prepare() {
    const counts: string[] = []
    const cases = SHAPES.map(({ name, payloadBytes, atOnce }) => {
      const frame = encodeFrame({
        id: '01234567-89ab-7000-8000-000000000000',
        namespace: 'bench',
        type: 'request',
        timestamp: '2026-01-01T00:00:00.000Z',
        payload: { text: 'x'.repeat(payloadBytes) },
      })
      const read = Buffer.concat(Array.from({ length: atOnce }, () => frame))
      const reads = Math.floor(BYTES / read.length)
      counts.push(`${name}: ${reads * atOnce} frames`)
      const take = (way: typeof readEnvelopes) => () => {
        let seen = 0
        const decoder = new FrameDecoder(2 ** 20, ({ payloadJson }) => (seen += payloadJson.length), way)
        for (let i = 0; i < reads; i++) decoder.take(read)
        if (seen < reads * atOnce * payloadBytes) throw new Error('frames are missing')
      }
      return {
        name,
        ours: take(readEnvelopes),
        peer: take(readEnvelopesInJs),
        peerName: 'JavaScript',
        megabytes: (reads * read.length) / 1e6,
      }
    })
    return { cases, more: () => Promise.resolve(counts.join('; ')), cleanUp: () => undefined }
  },
}
export default bench
