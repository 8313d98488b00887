import type { WireWorkspace } from '../../../../api/workspace.ts'

/** A workspace and its forks. */
export interface ForkTree {
  readonly name: string
  /** Undefined if it no longer exists. */
  readonly workspace: WireWorkspace | undefined
  readonly forks: readonly ForkTree[]
}

/** Returns the tree of forks that a workspace belongs to; undefined if it is neither a fork nor has any. */
export function forkTreeOf(name: string, all: ReadonlyMap<string, WireWorkspace>): ForkTree | undefined {
  const forks = Map.groupBy(
    [...all.values()].filter((each) => each.forked_from !== undefined),
    (each) => each.forked_from,
  )
  // Names are used again, so that a source can be the fork of its fork.
  const above = new Set([name])
  let root = name
  for (let source = all.get(root)?.forked_from; source !== undefined; source = all.get(root)?.forked_from) {
    if (above.has(source)) break
    above.add(source)
    root = source
  }
  const seen = new Set<string>()
  const treeOf = (at: string): ForkTree => {
    seen.add(at)
    const below = (forks.get(at) ?? []).map((fork) => fork.name).filter((fork) => !seen.has(fork))
    return { name: at, workspace: all.get(at), forks: below.toSorted(compare).map(treeOf) }
  }
  const tree = treeOf(root)
  return tree.forks.length === 0 ? undefined : tree
}

/** Orders names as people count: `a-2` before `a-10`. */
function compare(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true })
}
