import { walkTreesInJs } from '../../../src/native/files/disk-fallback.ts'
import {
  type TreeTotals,
  type WalkedTree,
  type WalkOptions,
  walkTrees,
} from '../../../src/native/files/disk.ts'

/** Returns the measurements of one tree. @throws its error */
export async function walkTree(path: string, options: WalkOptions = {}): Promise<TreeTotals> {
  return totalsOf((await walkTrees([path], options)).trees[0])
}

/** Measures one tree with the portable walker. @throws the error of an unreadable tree */
export async function walkTreeInJs(path: string): Promise<TreeTotals> {
  return totalsOf((await walkTreesInJs([path])).trees[0])
}

function totalsOf(tree: WalkedTree | undefined): TreeTotals {
  if (tree === undefined) throw new Error('the walk returned no result for the tree')
  if (tree.is === 'failed') throw Object.assign(new Error(tree.message), { code: tree.code })
  const { is: _, ...totals } = tree
  return totals
}
