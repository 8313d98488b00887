import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { collapseFront } from '../../../native/files/deallocate.ts'
import type { Bytes } from '../../bytes.ts'

const BLOCK_BYTES = 512
const COPY_BYTES = 1 << 20
/** How much of a log is held in memory where its end must be copied. */
const MAX_COPIED_BYTES = 64 * COPY_BYTES

/**
 * Truncates a console log to its last bytes in place while it may be written to (threat P10). Where the file
 * system can remove the front of a file, an appending writer loses nothing; for a live log, up to one block
 * more than requested is kept. Elsewhere, lines written between copying the end and truncating are lost,
 * which the returned note reports.
 *
 * @param directory the log's directory; neither it nor the log may be a symbolic link
 * @param isLive whether the log may be written to
 */
export async function truncateLog(
  directory: string,
  tailBytes: number,
  isLive: boolean,
): Promise<{ readonly freed: Bytes; readonly note?: string }> {
  const file = await openLog(directory)
  try {
    const before = await file.stat()
    if (!before.isFile()) throw new Error('console.log is not a regular file; remove it manually')
    if (before.nlink !== 1) throw new Error('console.log has other hard links; remove them manually')
    const note = await cut(file, before, tailBytes, isLive)
    await file.sync()
    const after = await file.stat()
    return { freed: difference(before, after), ...(note !== undefined && { note }) }
  } finally {
    await file.close()
  }
}

/**
 * Opens the directory first, so that it cannot be replaced by a link in between; macOS cannot open paths
 * relative to it.
 */
async function openLog(directory: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_APPEND
  if (process.platform !== 'linux') return open(join(directory, 'console.log'), flags)
  const opened = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    return await open(`/proc/self/fd/${opened.fd}/console.log`, flags)
  } finally {
    await opened.close()
  }
}

async function cut(
  file: FileHandle,
  { size, blksize }: Stats,
  tailBytes: number,
  isLive: boolean,
): Promise<string | undefined> {
  const excess = size - tailBytes
  if (excess <= 0) return undefined
  const whole = Math.floor(excess / blksize) * blksize
  // Less than a block is not worth the risk of losing a writer's lines.
  if (whole === 0 && isLive) return undefined
  const isCollapsed = whole > 0 && whole < size && (await collapseFront(file.fd, whole))
  if (isCollapsed && (isLive || whole === excess || tailBytes > MAX_COPIED_BYTES)) return undefined
  if (tailBytes > MAX_COPIED_BYTES)
    throw new Error(
      'this file system cannot remove the front of a file, so at most the last 64 MiB can be kept',
    )
  return copyEnd(file, tailBytes, isLive)
}

/**
 * Copies the end of a log over its start. Lines appended after the last read and before the truncation are
 * lost; later ones end up before the restored end. No system call reveals the former, so a live log is never
 * reported as complete.
 */
async function copyEnd(file: FileHandle, tailBytes: number, isLive: boolean): Promise<string | undefined> {
  const { size } = await file.stat()
  const start = Math.max(0, size - tailBytes)
  const read = await readFrom(file, start)
  const kept = read.subarray(Math.max(0, read.length - tailBytes))
  const { size: atCut } = await file.stat()
  await file.truncate(0)
  await file.appendFile(kept)
  const isSeenWhole = atCut === start + read.length && (await file.stat()).size === kept.length
  return isSeenWhole && !isLive
    ? undefined
    : 'its log may have been written to while it was truncated; some lines may be lost'
}

async function readFrom(file: FileHandle, from: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let at = from; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(COPY_BYTES), 0, COPY_BYTES, at)
    if (bytesRead === 0) return Buffer.concat(chunks)
    chunks.push(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

function difference(before: Stats, after: Stats): Bytes {
  return {
    files: 0,
    logicalBytes: Math.max(0, before.size - after.size),
    physicalBytes: Math.max(0, (before.blocks - after.blocks) * BLOCK_BYTES),
  }
}
