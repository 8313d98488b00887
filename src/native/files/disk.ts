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
  const work = loaded.addon.walkTrees(paths, options.threads ?? 0, options.extentsFromBytes ?? 0)
  const report = (await waitForWork(work, options)) as {
    readonly trees: readonly (TreeTotals | Error)[]
    readonly sharedBytes: number
  }
  const trees = report.trees.map((tree) =>
    tree instanceof Error ? failedTree(tree) : { is: 'measured' as const, ...tree },
  )
  return { trees, sharedBytes: report.sharedBytes }
}
