import { walkTreeInJs } from './disk-fallback.ts'
import { warnOfFallback } from './fallback-warning.ts'
import { loadAddon } from './load.ts'
import type { TreeTotals } from './tree-totals.ts'

export type { TreeTotals }

export interface WalkOptions {
  /** How many threads the addon uses, 0 to 64; 0, the default, is as many as the machine has, at most 4. */
  readonly threads?: number
}

/**
 * Counts the tree at a path. Synchronous: for worker threads. Symlinks are never followed and mounts below the path
 * never entered; what vanishes meanwhile is left out.
 *
 * Uses the addon, or else JavaScript with the same results; there a path beyond the system's PATH_MAX counts as
 * unreadable.
 *
 * @throws Error with code, errno, syscall and path, as from node:fs, if the path is missing or unreadable
 */
export function walkTree(path: string, options: WalkOptions = {}): TreeTotals {
  const loaded = loadAddon()
  if (loaded.is === 'loaded') return loaded.addon.walkTree(path, options.threads ?? 0) as TreeTotals
  warnOfFallback('walkTree', loaded.reason)
  return walkTreeInJs(path)
}
