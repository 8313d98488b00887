import { normalizeInodes } from '../src/workspace/image/convert/normalize-inodes.ts'

/** Sets all inodes of a new file system to the same times; see normalizeInodes. */
export default function imageNormalize(task: { readonly path: string }): void {
  normalizeInodes(task.path)
}
