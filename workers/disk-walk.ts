import { walkTrees, type WalkReport } from '../src/native/files/disk.ts'

/** Counts trees and tells how many entries it has seen; see walkTrees. */
export default function diskWalk(
  task: { readonly paths: readonly string[]; readonly extentsFromBytes: number },
  tell: (entries: number) => void,
): Promise<WalkReport> {
  return walkTrees(task.paths, { extentsFromBytes: task.extentsFromBytes, onSeen: tell })
}
