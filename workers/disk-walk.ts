import { walkTree, type TreeTotals } from '../src/native/disk.ts'

/** Counts one tree; see walkTree. */
export default function diskWalk(task: { readonly path: string }): TreeTotals {
  return walkTree(task.path)
}
