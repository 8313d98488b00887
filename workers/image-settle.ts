import { normalizeInodes } from '../src/workspace/image/convert/normalize-inodes.ts'

/** Gives all inodes of a fresh file system the same times; see normalizeInodes. */
export default function imageSettle(task: { readonly path: string }): void {
  normalizeInodes(task.path)
}
