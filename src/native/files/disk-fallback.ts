import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { mountPointsBelow } from './mount-points.ts'
import {
  failedTree,
  type TreeTotals,
  type WalkedTree,
  type WalkOptions,
  type WalkReport,
} from './tree-totals.ts'

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

// Linux and macOS count st_blocks in 512-byte units, independent of st_blksize.
const BLOCK_BYTES = 512

const ENTRIES_PER_TURN = 1_000

/** Fallback for the addon's walkTrees. Runs entry by entry on the calling thread, yielding in between. */
export async function walkTreesInJs(
  paths: readonly string[],
  { signal, onSeen }: Pick<WalkOptions, 'signal' | 'onSeen'> = {},
): Promise<WalkReport> {
  const trees: WalkedTree[] = []
  const elsewhere = new Set<string>()
  let sharedBytes = 0
  let seen = 0
  for (const path of paths) {
    const links = new Set<string>()
    const isCounted = (link: string, stat: Stats): boolean => {
      if (links.has(link)) return true
      links.add(link)
      if (elsewhere.has(link)) sharedBytes += stat.blocks * BLOCK_BYTES
      elsewhere.add(link)
      return false
    }
    const onEntry = async (): Promise<void> => {
      if (++seen % ENTRIES_PER_TURN !== 0) return
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
      onSeen?.(seen)
    }
    signal?.throwIfAborted()
    try {
      trees.push({ is: 'measured', ...(await walkTree(path, isCounted, onEntry)) })
    } catch (error) {
      if (signal?.aborted === true || isExhaustion(error)) throw error
      trees.push(failedTree(error))
    }
  }
  return { trees, sharedBytes, askedFiles: 0 }
}

async function walkTree(
  path: string,
  isCounted: (link: string, stat: Stats) => boolean,
  onEntry: () => Promise<void>,
): Promise<TreeTotals> {
  const totals: Writable<TreeTotals> = {
    files: 0,
    directories: 0,
    logicalBytes: 0,
    physicalBytes: 0,
    unreadable: 0,
    firstUnreadable: undefined,
  }
  const root = lstatSync(path)
  count(path, root, totals, isCounted)
  if (!root.isDirectory()) return totals

  const isElsewhere = mountTest(path, root)
  // Paths are bytes: a name may not be valid UTF-8, and decoding would lose it.
  const rootDirectory: Buffer = Buffer.from(path)
  const waiting = [rootDirectory]
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    let allSeen = true
    let names: readonly Buffer[] = []
    try {
      names = readdirSync(directory, { encoding: 'buffer' })
    } catch (error) {
      if (directory === rootDirectory || isExhaustion(error)) throw error
      allSeen = hasVanished(error)
    }
    for (const name of names) {
      const entry = join(directory, name)
      await onEntry()
      try {
        const stat = lstatSync(entry)
        if (isElsewhere(entry, stat)) continue
        count(entry, stat, totals, isCounted)
        if (stat.isDirectory()) waiting.push(entry)
      } catch (error) {
        if (!hasVanished(error)) allSeen = false
      }
    }
    if (!allSeen) {
      totals.unreadable++
      totals.firstUnreadable ??= directory.toString()
    }
  }
  return totals
}

function count(
  path: string | Buffer,
  stat: Stats,
  totals: Writable<TreeTotals>,
  isCounted: (link: string, stat: Stats) => boolean,
): void {
  if (stat.isDirectory()) {
    totals.directories++
  } else {
    if (stat.nlink > 1) {
      // Inode numbers have 64 bits; doubles would conflate neighbors.
      const { dev, ino } = lstatSync(path, { bigint: true })
      if (isCounted(`${dev}:${ino}`, stat)) return
    }
    totals.files++
    if (stat.isFile() || stat.isSymbolicLink()) totals.logicalBytes += stat.size
  }
  totals.physicalBytes += stat.blocks * BLOCK_BYTES
}

// Like the addon, uses mounts where the system lists them, else device numbers, which do not reveal bind
// mounts.
function mountTest(path: string, root: Stats): (entry: Buffer, stat: Stats) => boolean {
  const mounts = mountPointsBelow(path)
  if (mounts === undefined) return (_, stat) => stat.isDirectory() && stat.dev !== root.dev
  if (mounts.size === 0) return () => false
  return (entry) => mounts.has(entry.toString('latin1'))
}

const slash = Buffer.from('/')

function join(directory: Buffer, name: Buffer): Buffer {
  return directory.at(-1) === slash[0]
    ? Buffer.concat([directory, name])
    : Buffer.concat([directory, slash, name])
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code
}

function hasVanished(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP'
}

function isExhaustion(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM'
}
