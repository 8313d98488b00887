import { walkTreesInJs } from './disk-fallback.ts'
import { warnOfFallback } from '../fallback-warning.ts'
import { waitForWork } from '../background-work.ts'
import { loadAddon } from '../load.ts'
import {
  failedTree,
  type TreeTotals,
  type WalkedTree,
  type WalkOptions,
  type WalkReport,
} from './tree-totals.ts'

export type { TreeTotals, WalkedTree, WalkOptions, WalkReport }

/**
 * Measures the trees at some paths, off the calling thread. Never follows symlinks or enters mounts below a
 * path; ignores entries that are deleted meanwhile.
 *
 * Uses the addon, or a JavaScript fallback with the same results except for space shared by reflinks; there a
 * path longer than PATH_MAX counts as unreadable.
 *
 * @throws Error with code, errno, syscall and path, as from node:fs: EMFILE, ENFILE, ENOMEM
 */
export async function walkTrees(paths: readonly string[], options: WalkOptions = {}): Promise<WalkReport> {
  for (const path of paths) if (path.includes('\0')) throw new TypeError('path contains a NUL')
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') {
    warnOfFallback('walkTrees', loaded.reason)
    return walkTreesInJs(paths, options)
  }
  const { threads = 0, extentsFromBytes = 0, rememberAt } = options
  const now = rememberAt === undefined ? 0 : secondsOf(rememberAt)
  const work = loaded.addon.walkTrees(paths, threads, extentsFromBytes, now)
  const report = (await waitForWork(work, options)) as Omit<WalkReport, 'trees'> & {
    readonly trees: readonly (TreeTotals | Error)[]
  }
  const trees = report.trees.map((tree) =>
    tree instanceof Error ? failedTree(tree) : { is: 'measured' as const, ...tree },
  )
  return { ...report, trees }
}

/**
 * Returns what walks of this process remember of extents, at most 128 MiB, for `restoreExtents` in another;
 * undefined if little is new since the last call. The fallback remembers nothing.
 */
export function saveExtents(now: Date): Uint8Array | undefined {
  const loaded = loadAddon()
  return (loaded.is === 'loaded' ? loaded.addon.saveExtents(secondsOf(now)) : null) ?? undefined
}

/** Adds the result of `saveExtents` to what walks remember. Returns false, and adds nothing, if it is damaged. */
export function restoreExtents(saved: Uint8Array): boolean {
  const loaded = loadAddon()
  return loaded.is === 'absent' || loaded.addon.restoreExtents(saved)
}

function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
