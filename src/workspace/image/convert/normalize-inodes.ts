import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { EPOCH_SECONDS } from './measure-tree.ts'

/** Offsets of the ext4 disk layout (Documentation/filesystems/ext4 of the kernel), in bytes. */
const SUPERBLOCK_AT = 1024
const SUPERBLOCK = {
  inodes: 0,
  blockSizeLog: 24,
  inodesPerGroup: 40,
  magic: 56,
  inodeSize: 88,
  incompatible: 96,
  readOnlyCompatible: 100,
  descriptorSize: 254,
} as const
const GROUP = { tableLow: 8, flags: 18, unusedLow: 28, tableHigh: 40, unusedHigh: 50 } as const
const INODE = {
  mode: 0,
  accessed: 8,
  changed: 12,
  changedExtra: 132,
  accessedExtra: 140,
  created: 144,
  createdExtra: 148,
} as const
const MAGIC = 0xef53
const INCOMPATIBLE_META_BG = 0x10
const METADATA_CHECKSUMS = 0x400
const TABLE_UNUSED = 0x1

/**
 * Sets all access, change and creation times in a fresh ext4 file system to one value. mke2fs copies the
 * first two from the tree, where they depend on when it was unpacked. The file system has no metadata
 * checksums that would have to be recomputed. Synchronous: for worker threads.
 */
export function normalizeInodes(path: string): void {
  const file = openSync(path, 'r+')
  try {
    const read = (at: number, bytes: number): Buffer => {
      const buffer = Buffer.alloc(bytes)
      if (readSync(file, buffer, 0, bytes, at) !== bytes)
        throw new Error(`${path} is truncated before byte ${at + bytes}`)
      return buffer
    }
    const head = read(SUPERBLOCK_AT, 1024)
    if (head.readUInt16LE(SUPERBLOCK.magic) !== MAGIC) throw new Error(`${path} is not an ext4 file system`)
    if ((head.readUInt32LE(SUPERBLOCK.incompatible) & INCOMPATIBLE_META_BG) !== 0)
      throw new Error(`${path} uses an unsupported layout of group descriptors (meta_bg)`)
    if ((head.readUInt32LE(SUPERBLOCK.readOnlyCompatible) & METADATA_CHECKSUMS) !== 0)
      throw new Error(`${path} has metadata checksums, which are not supported`)
    const blockSize = 1024 << head.readUInt32LE(SUPERBLOCK.blockSizeLog)
    const inodeSize = head.readUInt16LE(SUPERBLOCK.inodeSize)
    const perGroup = head.readUInt32LE(SUPERBLOCK.inodesPerGroup)
    const groups = head.readUInt32LE(SUPERBLOCK.inodes) / perGroup
    const descriptorSize = Math.max(32, head.readUInt16LE(SUPERBLOCK.descriptorSize))
    const descriptors = read(blockSize === 1024 ? 2048 : blockSize, groups * descriptorSize)
    for (let group = 0; group < groups; group++) {
      const own = descriptors.subarray(group * descriptorSize, (group + 1) * descriptorSize)
      const high = (at: number): number => (descriptorSize >= 64 ? own.readUInt32LE(at) : 0)
      const tableAt = (own.readUInt32LE(GROUP.tableLow) + high(GROUP.tableHigh) * 2 ** 32) * blockSize
      const unused =
        own.readUInt16LE(GROUP.unusedLow) +
        (descriptorSize >= 64 ? own.readUInt16LE(GROUP.unusedHigh) * 2 ** 16 : 0)
      const used = (own.readUInt16LE(GROUP.flags) & TABLE_UNUSED) !== 0 ? 0 : perGroup - unused
      if (used <= 0) continue
      const table = read(tableAt, used * inodeSize)
      for (let i = 0; i < used; i++) normalize(table.subarray(i * inodeSize, (i + 1) * inodeSize))
      writeSync(file, table, 0, table.length, tableAt)
    }
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function normalize(inode: Buffer): void {
  if (inode.readUInt16LE(INODE.mode) === 0) return
  for (const at of [INODE.accessed, INODE.changed]) inode.writeUInt32LE(EPOCH_SECONDS, at)
  if (inode.length < INODE.createdExtra + 4) return
  inode.writeUInt32LE(EPOCH_SECONDS, INODE.created)
  for (const at of [INODE.accessedExtra, INODE.changedExtra, INODE.createdExtra]) inode.writeUInt32LE(0, at)
}
