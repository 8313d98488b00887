import { spawnSync } from 'node:child_process'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

type Format = 'gzip' | 'xz' | 'zstd' | 'lz4' | 'bzip2' | 'lzma'

/**
 * First bytes of compressed data. LZMA has no magic number; kernels and modules compressed with it start with
 * these.
 */
const MAGICS: readonly (readonly [Format, string])[] = [
  ['gzip', '1f8b'],
  ['xz', 'fd377a585a00'],
  ['zstd', '28b52ffd'],
  ['lz4', '02214c18'],
  ['lz4', '04224d18'],
  ['bzip2', '425a68'],
  ['lzma', '5d0000'],
]

/** Programs that decompress standard input to standard output. */
export const DECOMPRESSORS: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  gzip: ['gzip', '-dc'],
  xz: ['xz', '-dc'],
  zstd: ['zstd', '-dc'],
  lz4: ['lz4', '-dc'],
  bzip2: ['bzip2', '-dc'],
  lzma: ['xz', '-dc', '--format=lzma'],
}

/** Returns the compression format; undefined for uncompressed data or an unknown format. */
export function compressionOf(bytes: Uint8Array): Format | undefined {
  const head = Buffer.from(bytes.subarray(0, 8)).toString('hex')
  return MAGICS.find(([, magic]) => head.startsWith(magic))?.[0]
}

/**
 * Decompresses bytes to at most `maxBytes`, ignoring trailing data. `what` names them in errors. Synchronous:
 * for worker threads.
 *
 * @throws BACKEND_ERROR when they are damaged or too large, or the format's program is not installed
 */
export function decompress(bytes: Uint8Array, format: Format, what: string, maxBytes: number): Buffer {
  try {
    if (format === 'gzip') return gunzipSync(bytes, { maxOutputLength: maxBytes })
    if (format === 'zstd') return zstdDecompressSync(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    throw fault('BACKEND_ERROR', `${what} cannot be decompressed (${format}): ${messageOf(error)}`, error)
  }
  const [program, ...argv] = DECOMPRESSORS[format]
  const { stdout, stderr, error } = spawnSync(program, argv, { input: bytes, maxBuffer: maxBytes })
  const code = error !== undefined && 'code' in error ? error.code : undefined
  if (code === 'ENOENT')
    throw fault('BACKEND_ERROR', `${what} is compressed with ${format}; install ${program}`)
  if (code === 'ENOBUFS')
    throw fault('BACKEND_ERROR', `${what} decompresses to more than ${maxBytes} bytes (${format})`)
  // A non-zero status may concern trailing data; the caller validates the output.
  if (stdout.length > 0) return stdout
  throw fault(
    'BACKEND_ERROR',
    `${what} cannot be decompressed (${format}): ${stderr.toString().trim()}`,
    error,
  )
}
