import { walkTrees, type WalkReport } from '../src/native/files/disk.ts'

/** Measures directory trees and reports the number of entries scanned; see walkTrees. */
export default function diskWalk(
  task: { readonly paths: readonly string[]; readonly extentsFromBytes: number },
  onProgress: (entries: number) => void,
): Promise<WalkReport> {
  return walkTrees(task.paths, { extentsFromBytes: task.extentsFromBytes, onSeen: onProgress })
}
