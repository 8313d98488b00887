import { fileFacts } from '../src/workspace/image/convert/file-facts.ts'
import type { FileFacts } from '../src/workspace/image/manifest.ts'

/** Reads a file for its size and digest; see fileFacts. */
export default function imageFacts(task: { readonly path: string }): FileFacts {
  return fileFacts(task.path)
}
