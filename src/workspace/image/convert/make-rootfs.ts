import { dirname } from 'node:path'
import { conversionSandbox } from './conversion-sandbox.ts'
import { EPOCH_SECONDS, type TreeMeasure } from './measure-tree.ts'
import type { Owners } from './owners.ts'
import { runTool } from './tool.ts'

const ID = '00000000-0000-0000-0000-000000000001'
const MIB = 2 ** 20
/**
 * The complete feature list, overriding this machine's mke2fs.conf. No journal: the file system is never
 * written to. No checksums: the image's digest covers every byte.
 */
const FEATURES =
  'none,sparse_super,large_file,filetype,dir_index,ext_attr,64bit,flex_bg,extent,huge_file,extra_isize,dir_nlink'

/**
 * Creates the file system of an unpacked image without mounting anything. Everything that mke2fs would
 * randomize or take from the clock is given explicitly; inode times, which it takes from the tree, are
 * normalized afterwards.
 */
export async function makeRootfs(
  { tree, file, measure }: { readonly tree: string; readonly file: string; readonly measure: TreeMeasure },
  owners: Owners,
  signal: AbortSignal | undefined,
): Promise<void> {
  const inodes = measure.inodes + 64
  // Leaves space for bitmaps, inodes and the extents of large files; unused space takes no disk space.
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
    what: 'creating the file system',
    package: 'e2fsprogs',
    // The parent directory contains fakeroot's state.
    sandbox: conversionSandbox({ writable: [dirname(tree)] }),
    environment: { E2FSPROGS_FAKE_TIME: time, SOURCE_DATE_EPOCH: time },
    signal,
  })
}

/** Checks the consistency of the whole file system without changing anything. */
export async function checkRootfs(file: string, signal: AbortSignal | undefined): Promise<void> {
  await runTool(['e2fsck', '-f', '-n', file], {
    what: 'checking the file system',
    package: 'e2fsprogs',
    sandbox: conversionSandbox({ readable: [file] }),
    signal,
  })
}
