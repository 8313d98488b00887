import type { WalkedTree } from '../../native/files/disk.ts'
import type { Bytes } from '../bytes.ts'

export const NOTHING: Bytes = { files: 0, logicalBytes: 0, physicalBytes: 0 }

export function sumBytes(sizes: readonly Bytes[]): Bytes {
  return {
    files: sizes.reduce((total, size) => total + size.files, 0),
    logicalBytes: sizes.reduce((total, size) => total + size.logicalBytes, 0),
    physicalBytes: sizes.reduce((total, size) => total + size.physicalBytes, 0),
  }
}

/** What of a tree is reported; nothing for one that could not be read. */
export function bytesOf(tree: WalkedTree | undefined): Bytes {
  if (tree?.is !== 'measured') return NOTHING
  const { files, logicalBytes, physicalBytes } = tree
  return { files, logicalBytes, physicalBytes }
}
