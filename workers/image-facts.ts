import { fileFacts } from '../src/workspace/image/convert/file-facts.ts'
import type { FileFacts } from '../src/workspace/image/manifest.ts'

/** Returns a file's size and digest; see fileFacts. */
export default function imageFacts(task: { readonly path: string }): FileFacts {
  return fileFacts(task.path)
}
