import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { cage } from './cage.ts'
import { EPOCH_SECONDS, type TreeMeasure } from './measure-tree.ts'
import type { Owners } from './owners.ts'
import { runTool } from './tool.ts'

const ID = '00000000-0000-0000-0000-000000000001'
const MIB = 2 ** 20
/**
 * All of them, whatever this machine's mke2fs.conf prefers. No journal: nothing is ever written to it. No checksums: the
 * image's own digest is over every byte.
 */
const FEATURES =
  'none,sparse_super,large_file,filetype,dir_index,ext_attr,64bit,flex_bg,extent,huge_file,extra_isize,dir_nlink'

/**
 * Makes the file system of an unpacked image, without mounting anything. Everything that mke2fs would draw by lot or take
 * from the clock is given; what it takes from the tree's times of access is settled afterwards.
 */
export async function makeRootfs(
  { tree, file, measure }: { readonly tree: string; readonly file: string; readonly measure: TreeMeasure },
  owners: Owners,
  signal: AbortSignal | undefined,
): Promise<void> {
  const inodes = measure.inodes + 64
  // Room for bitmaps, inodes and what a large file's extents need; what is not used takes nothing on disk.
  const megabytes = Math.ceil((measure.bytes * 1.06 + inodes * 512) / MIB) + 32
  const argv = [
    'mke2fs',
    ...'-q -t ext4 -b 4096 -I 256 -m 0 -L lower'.split(' '),
    ...`-U ${ID} -O ${FEATURES} -E hash_seed=${ID},root_owner=0:0 -N ${inodes} -d`.split(' '),
    tree,
    file,
    `${megabytes}M`,
  ]
  const time = String(EPOCH_SECONDS)
  await runTool(owners.as(argv), {
    what: 'making the file system',
    package: 'e2fsprogs',
    // The directory above holds what fakeroot remembers.
    sandbox: cage({ writable: [dirname(tree)] }),
    environment: { E2FSPROGS_FAKE_TIME: time, SOURCE_DATE_EPOCH: time },
    signal,
  })
}

/** Reads all of it for consistency, changing nothing. */
export async function checkRootfs(file: string, signal: AbortSignal | undefined): Promise<void> {
  await runTool(['e2fsck', '-f', '-n', file], {
    what: 'checking the file system',
    package: 'e2fsprogs',
    sandbox: cage({ readable: [file] }),
    signal,
  })
}

/** On disk, and not only in memory. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
