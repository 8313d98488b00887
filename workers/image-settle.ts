import { settleInodes } from '../src/workspace/image/convert/settle-inodes.ts'

/** Gives all inodes of a fresh file system the same times; see settleInodes. */
export default function imageSettle(task: { readonly path: string }): void {
  settleInodes(task.path)
}
