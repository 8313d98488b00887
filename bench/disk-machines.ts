import { execFileSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const DIRECTORIES = 5_000
const FILES_PER_DIRECTORY = 100
const UPPERS = 200
const EXTENTS = 1_000
const UPPER_BYTES = 5 * 2 ** 30
const DISK_BYTES = 8 * 2 ** 30
const DIGEST = '0'.repeat(64)
const ENVIRONMENT = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }

/** Number of files in the large directory. */
export const FILES = DIRECTORIES * FILES_PER_DIRECTORY
/** Number of sparse disks. */
export const UPPER_COUNT = UPPERS
/** Number of extents in each sparse disk. */
export const EXTENT_COUNT = EXTENTS

/**
 * Files of machines on a separate file system: a directory with as many files as a large source tree, and sparse
 * disks.
 */
export interface Machines {
  readonly root: string
  /** Directory with many files. */
  readonly tree: string
  readonly uppers: string
  readonly remove: () => void
}

/**
 * Creates them; needs root. If the file system can share extents, every other disk is a clone of the previous one.
 */
export function makeMachines(kind: 'ext4' | 'xfs' | 'btrfs'): Machines {
  const folder = mkdtempSync(join(tmpdir(), `workspace-bench-${kind}-`))
  const [image, mounted] = [join(folder, 'disk.img'), join(folder, 'mounted')]
  const fd = openSync(image, 'w')
  ftruncateSync(fd, DISK_BYTES)
  closeSync(fd)
  mkdirSync(mounted)
  // ext4 has enough inodes only on request.
  const flags = kind === 'ext4' ? ['-F', '-N', '1000000'] : ['-f']
  execFileSync(`mkfs.${kind}`, [...flags, '-q', image], { env: ENVIRONMENT, stdio: 'ignore' })
  execFileSync('mount', ['-o', 'loop', image, mounted])
  const root = join(mounted, 'machines')
  const tree = join(root, 'images/blobs/sha256', DIGEST)
  makeTree(tree)
  for (let i = 0; i < UPPERS; i++) makeMachine(root, i, kind !== 'ext4' && i % 2 === 1)
  execFileSync('sync', ['-f', mounted])
  return {
    root,
    tree,
    uppers: join(root, 'uppers'),
    remove() {
      execFileSync('umount', ['-l', mounted])
      rmSync(folder, { recursive: true })
    },
  }
}

// Like a source tree: directories of directories, files of some hundred bytes.
function makeTree(tree: string): void {
  for (let d = 0; d < DIRECTORIES; d++) {
    const directory = join(tree, `group-${Math.floor(d / 50)}`, `directory-${d}`)
    mkdirSync(directory, { recursive: true })
    for (let f = 0; f < FILES_PER_DIRECTORY; f++)
      writeFileSync(join(directory, `file-${f}.txt`), 'x'.repeat((f % 7) * 100))
  }
}

function makeMachine(root: string, i: number, isClone: boolean): void {
  const name = `machine-${i}`
  const upper = join(root, 'uppers', name, 'upper.ext4')
  for (const directory of ['uppers', 'instances']) mkdirSync(join(root, directory, name), { recursive: true })
  writeFileSync(join(root, 'instances', name, 'metadata.json'), metadataOf(name))
  if (isClone) {
    const before = join(root, 'uppers', `machine-${i - 1}`, 'upper.ext4')
    execFileSync('cp', ['--reflink=always', '--', before, upper])
    return
  }
  const fd = openSync(upper, 'w')
  const block = Buffer.alloc(4096, 'x')
  // Sets the size first, or XFS allocates ahead of each write at the current end.
  ftruncateSync(fd, UPPER_BYTES)
  for (let extent = 0; extent < EXTENTS; extent++) writeSync(fd, block, 0, block.length, extent * 2 ** 20)
  closeSync(fd)
}

function metadataOf(name: string): string {
  return JSON.stringify({
    version: 1,
    name,
    id: '00000000',
    createdAt: '2026-01-01T00:00:00.000Z',
    image: 'base',
    digest: `sha256:${DIGEST}`,
    repo: '',
    localDir: '',
    forwardPorts: [],
    environment: {},
    cpus: 1,
    memoryMb: 512,
    upperBytes: UPPER_BYTES,
    isFormatted: true,
    isKept: false,
    failure: '',
    run: null,
  })
}
