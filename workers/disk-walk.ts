import { type RepeatedWalk, walkTreesAgain } from '../src/workspace/disk/repeated-walk.ts'
import type { DiskWalkTask } from '../src/workspace/disk/walker.ts'

/** Measures directory trees and reports the number of entries scanned; see walkTreesAgain. */
export default function diskWalk(
  { paths, extentsFromBytes, extentsFile }: DiskWalkTask,
  onProgress: (entries: number) => void,
): Promise<RepeatedWalk> {
  return walkTreesAgain(paths, extentsFile, { extentsFromBytes, rememberAt: new Date(), onSeen: onProgress })
}
