import type { WalkedTree } from '../../native/files/disk.ts'
import type { Bytes } from '../bytes.ts'

/** Zero disk usage. */
export const NOTHING: Bytes = { files: 0, logicalBytes: 0, physicalBytes: 0 }

/** Adds up disk usage. */
export function sumBytes(sizes: readonly Bytes[]): Bytes {
  return {
    files: sizes.reduce((total, size) => total + size.files, 0),
    logicalBytes: sizes.reduce((total, size) => total + size.logicalBytes, 0),
    physicalBytes: sizes.reduce((total, size) => total + size.physicalBytes, 0),
  }
}

/** Returns the usage of a measured tree; zero for one that could not be read. */
export function bytesOf(tree: WalkedTree | undefined): Bytes {
  if (tree?.is !== 'measured') return NOTHING
  const { files, logicalBytes, physicalBytes } = tree
  return { files, logicalBytes, physicalBytes }
}
