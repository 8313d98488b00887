import { spawnSync } from 'node:child_process'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

const MAX_BYTES = 2 ** 30

type Format = 'gzip' | 'xz' | 'zstd' | 'lz4' | 'bzip2' | 'lzma'

/** What compressed data begins with. LZMA has no magic of its own; this is what kernels and modules of it begin with. */
const MAGICS: readonly (readonly [Format, string])[] = [
  ['gzip', '1f8b'],
  ['xz', 'fd377a585a00'],
  ['zstd', '28b52ffd'],
  ['lz4', '02214c18'],
  ['lz4', '04224d18'],
  ['bzip2', '425a68'],
  ['lzma', '5d0000'],
]

/** Undefined for what is not compressed, or in no way that is known. */
export function compressionOf(bytes: Uint8Array): Format | undefined {
  const head = Buffer.from(bytes.subarray(0, 8)).toString('hex')
  return MAGICS.find(([, magic]) => head.startsWith(magic))?.[0]
}

/**
 * What compressed bytes stand for; bytes after their end are left out. `what` names them in errors. Synchronous: for
 * worker threads. Throws BACKEND_ERROR when they are damaged, or the program of that format is not installed.
 */
export function decompress(bytes: Uint8Array, format: Format, what: string): Buffer {
  try {
    if (format === 'gzip') return gunzipSync(bytes, { maxOutputLength: MAX_BYTES })
    if (format === 'zstd') return zstdDecompressSync(bytes, { maxOutputLength: MAX_BYTES })
  } catch (error) {
    throw fault('BACKEND_ERROR', `${what} cannot be decompressed (${format}): ${messageOf(error)}`, error)
  }
  const argv = format === 'lzma' ? ['-dc', '--format=lzma'] : ['-dc']
  const program = format === 'lzma' ? 'xz' : format
  const { stdout, stderr, error } = spawnSync(program, argv, { input: bytes, maxBuffer: MAX_BYTES })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw fault('BACKEND_ERROR', `${what} is compressed with ${format}: install the program ${program}`)
  // A status other than 0 may be for what follows the data; whoever asked looks at what came out.
  if (stdout.length > 0) return stdout
  throw fault(
    'BACKEND_ERROR',
    `${what} cannot be decompressed (${format}): ${stderr.toString().trim()}`,
    error,
  )
}
