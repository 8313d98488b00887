import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import type { SparseLayout } from '../../../src/lib/tar/entry.ts'

const K = 1024

/** Sparse files by their kind, whose parts have sizes of blocks of 4 KiB, or not. */
export const SPARSE_FILES: Readonly<Record<string, SparseLayout>> = {
  'hole at the start': layout(1024 * K, [1020 * K, 4 * K]),
  'hole in the middle': layout(1024 * K, [0, 8 * K], [1020 * K, 4 * K]),
  'hole at the end': layout(1024 * K, [0, 4 * K]),
  'only a hole': layout(1024 * K),
  'end within a block': layout(1024 * K + 5, [8 * K, 4 * K], [1024 * K, 5]),
  'hole that ends within a block': layout(1024 * K + 5, [8 * K, 4 * K]),
  // As many as fit into the header, into the first block behind it, and one more.
  ...Object.fromEntries([3, 4, 5, 24, 25, 26, 100].map((parts) => [`${parts} parts`, partsOf(parts)])),
}

/** Creates a sparse file with random-looking data in its parts, and returns its content. */
export function writeSparseFile(path: string, { fileBytes, extents }: SparseLayout): Buffer {
  const content = Buffer.alloc(fileBytes)
  const file = openSync(path, 'w')
  ftruncateSync(file, fileBytes)
  for (const { offset, length } of extents) {
    for (let at = offset; at < offset + length; at++) content[at] = 1 + ((at * 31) % 255)
    writeSync(file, content, offset, length, offset)
  }
  closeSync(file)
  return content
}

function layout(fileBytes: number, ...extents: readonly (readonly [number, number])[]): SparseLayout {
  return { fileBytes, extents: extents.map(([offset, length]) => ({ offset, length })) }
}

function partsOf(count: number): SparseLayout {
  const parts = Array.from({ length: count }, (_, index) => [index * 8 * K, 4 * K] as const)
  return layout(count * 8 * K, ...parts)
}
