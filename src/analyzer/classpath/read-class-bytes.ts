import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ByteSource, withFile } from './byte-source.ts'
import { type ClassContainer, type ClassEntry, MAX_CLASS_BYTES } from './class-container.ts'
import { withNestedArchive } from './nested-archive.ts'
import { readExtent } from './read-extent.ts'

/** Returns the bytes of a class file. @throws Error when it cannot be read */
export function readClassBytes(container: ClassContainer, { file, extent }: ClassEntry): Buffer {
  if (extent === undefined) return readFileSync(join(container.path, file))
  const read = (source: ByteSource): Buffer => readExtent(source, extent, MAX_CLASS_BYTES)
  return container.deflated === undefined
    ? withFile(container.path, read)
    : withNestedArchive(container.path, container.deflated, read)
}
