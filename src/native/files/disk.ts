import { walkTreesInJs } from './disk-fallback.ts'
import { warnOfFallback } from '../fallback-warning.ts'
import { finish } from '../in-background.ts'
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
 * Counts the trees at some paths, away from the calling thread. Symlinks are never followed and mounts below a path never
 * entered; what vanishes meanwhile is left out.
 *
 * Uses the addon, or else JavaScript with the same results but for what reflinks share; there a path beyond the system's
 * PATH_MAX counts as unreadable.
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
  const report = (await finish(work, options)) as {
    readonly trees: readonly (TreeTotals | Error)[]
    readonly sharedBytes: number
  }
  const trees = report.trees.map((tree) =>
    tree instanceof Error ? failedTree(tree) : { is: 'measured' as const, ...tree },
  )
  return { trees, sharedBytes: report.sharedBytes }
}
