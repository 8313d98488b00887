import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

/** Bytes that are decoded of each coding. */
const MAX_BYTES = 65_536
const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
/** With this flush at its end, a truncated text is decoded as far as it goes. */
const ZLIB = { finishFlush: Z_SYNC_FLUSH }

/** Decoders by coding, for bytes that begin as given. */
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Transform | undefined>> = {
  br: () => zlib.createBrotliDecompress({ finishFlush: BROTLI_OPERATION_FLUSH }),
  // Like browsers, also without the header of zlib.
  deflate: (bytes) => (hasZlibHeader(bytes) ? zlib.createInflate(ZLIB) : zlib.createInflateRaw(ZLIB)),
  gzip: () => zlib.createGunzip(ZLIB),
  // Since Node 22.15.
  zstd: () =>
    'createZstdDecompress' in zlib ? zlib.createZstdDecompress({ finishFlush: ZSTD_e_flush }) : undefined,
}

/**
 * Returns the first bytes of a text from its first bytes in some codings; undefined if these are damaged or empty, or a
 * coding is unknown. Decodes a limited part, regardless of the ratio.
 *
 * @param codings as `parseContentEncoding` returns them @param maxBytes at most 64 KiB
 */
export async function decodeHead(
  bytes: Buffer,
  codings: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  let head = bytes
  for (const coding of codings.split(', ').toReversed()) {
    const decoder = DECODERS[coding]?.(head)
    const decoded = decoder && (await decodeSome(head, decoder))
    if (decoded === undefined || decoded.length === 0) return undefined
    head = decoded
  }
  return Buffer.from(head.subarray(0, maxBytes))
}

async function decodeSome(bytes: Buffer, decoder: Transform): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  decoder.end(bytes)
  try {
    // Leaving the loop destroys the stream.
    for await (const chunk of decoder) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size >= MAX_BYTES) break
    }
  } catch {
    // Browsers show nothing of damaged data that could be in a character set.
    return undefined
  }
  return Buffer.concat(chunks)
}

function hasZlibHeader(bytes: Buffer): boolean {
  return bytes.length >= 2 && (bytes.readUInt8() & 0x0f) === 8 && bytes.readUInt16BE() % 31 === 0
}
