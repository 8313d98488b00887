import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'

const compress = promisify(brotliCompress)
const SMALL_WINDOW_BITS = 16
/** Longest content that a window of 16 bits holds. Source: RFC 7932, 9.1. */
const SMALL_WINDOW_BYTES = 2 ** SMALL_WINDOW_BITS - 16

/**
 * Compresses a content with brotli. Small ones get a small window: with the default of 4 MiB, the encoder sets up tables of up
 * to 32 MB each time, which takes longer than compressing a page, and saves no byte.
 */
export function brotli(bytes: Buffer, quality: number): Promise<Buffer> {
  const params: Record<number, number> = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  }
  if (bytes.length <= SMALL_WINDOW_BYTES) params[constants.BROTLI_PARAM_LGWIN] = SMALL_WINDOW_BITS
  return compress(bytes, { params })
}
