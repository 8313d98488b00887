import type { FileHandle } from 'node:fs/promises'
import type { Extent, SparseLayout } from '../../../../lib/tar/entry.ts'

const CHUNK_BYTES = 256 * 1024
/** Unit of holes in common file systems. */
const BLOCK_BYTES = 4096
const ZEROS = Buffer.alloc(CHUNK_BYTES)
/** A file with more parts is copied with its zeros. */
const MAX_EXTENTS = 2 ** 20

/**
 * Returns where a sparse file of this machine has data, which reading it shows, because Node.js has no SEEK_HOLE. Returns
 * undefined for a file that has no holes.
 */
export async function findLayout(file: FileHandle): Promise<SparseLayout | undefined> {
  const { size, blocks } = await file.stat()
  // Linux and macOS count blocks of 512 bytes.
  if (blocks * 512 >= size) return undefined
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  const extents: Extent[] = []
  let start: number | undefined
  let at = 0
  const enter = (isData: boolean, position: number): void => {
    if (isData === (start !== undefined)) return
    if (start !== undefined) extents.push({ offset: start, length: position - start })
    start = isData ? position : undefined
  }
  while (at < size && extents.length < MAX_EXTENTS) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, size - at), at)
    if (bytesRead === 0) return undefined
    const step = isZero(buffer, 0, bytesRead) ? bytesRead : BLOCK_BYTES
    for (let from = 0; from < bytesRead; from += step)
      enter(!isZero(buffer, from, Math.min(from + step, bytesRead)), at + from)
    at += bytesRead
  }
  enter(false, size)
  const isFull = extents[0]?.length === size
  return isFull || extents.length >= MAX_EXTENTS ? undefined : { fileBytes: size, extents }
}

function isZero(buffer: Buffer, from: number, to: number): boolean {
  return buffer.compare(ZEROS, 0, to - from, from, to) === 0
}
