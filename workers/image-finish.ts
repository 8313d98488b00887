import { fileFacts } from '../src/workspace/image/convert/file-facts.ts'
import { settleInodes } from '../src/workspace/image/convert/settle-inodes.ts'
import type { FileFacts } from '../src/workspace/image/manifest.ts'

/** Settles the times in a fresh file system, then tells what each file of an image is. */
export default function imageFinish(task: {
  readonly rootfs: string
  readonly paths: readonly string[]
}): readonly FileFacts[] {
  settleInodes(task.rootfs)
  return task.paths.map(fileFacts)
}
