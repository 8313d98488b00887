import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { decodeHead } from '../../../src/content/store/decode-head.ts'

const CODINGS = [
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['zstd', zstdCompressSync],
] as const
const TEXT = Buffer.from(Array.from({ length: 12_000 }, (_, at) => `<p>${at ** 3}`).join())

test.each(CODINGS)(
  'the beginning of a text in %s is decoded, also from its beginning',
  async (coding, encode) => {
    expect(await decodeHead(encode(Buffer.from('<p>\xfc')), coding, 100)).toEqual(Buffer.from('<p>\xfc'))
    expect(await decodeHead(encode(TEXT), coding, 100)).toEqual(TEXT.subarray(0, 100))
    const start = await decodeHead(encode(TEXT).subarray(0, -500), coding, 60_000)
    expect(start?.length).toBeGreaterThan(10_000)
    expect(start).toEqual(TEXT.subarray(0, start?.length))
  },
)

test.each(CODINGS)(
  'damaged, empty and excessive data in %s yields nothing, or no more than asked',
  async (coding, encode) => {
    expect(await decodeHead(Buffer.from('<p>not compressed at all'), coding, 100)).toBeUndefined()
    expect(await decodeHead(Buffer.alloc(0), coding, 100)).toBeUndefined()
    const bomb = encode(Buffer.alloc(4 * 1024 * 1024))
    expect((await decodeHead(bomb, coding, 100))?.length).toBe(100)
  },
)

test('several codings are decoded in reverse, and unknown ones not at all', async () => {
  const twice = gzipSync(brotliCompressSync(TEXT))
  expect(await decodeHead(twice, 'br, gzip', 10)).toEqual(TEXT.subarray(0, 10))
  expect(await decodeHead(twice, 'gzip, br', 10)).toBeUndefined()
  expect(await decodeHead(TEXT, 'compress', 10)).toBeUndefined()
})
