import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readExtent } from '../../classpath/read-extent.ts'
import { withArchive } from '../archive/archive-entries.ts'
import type { ClassFiles } from './decompile-protocol.ts'
import { decodeSource, MAX_SOURCE_BYTES } from '../archive/source-text.ts'
import { storedArchive } from '../archive/stored-archive.ts'

/** Names of the archives that the JVM reads and writes in a task's folder. */
export const INPUT_ARCHIVE = 'in.jar'
/** Name of the archive that Vineflower writes. */
export const OUTPUT_ARCHIVE = 'out.jar'

/** Writes class files for Vineflower to read. */
export async function writeClasses(folder: string, files: ClassFiles): Promise<void> {
  const archive = storedArchive(new Map([...files].map(([name, bytes]) => [`${name}.class`, bytes])))
  await writeFile(join(folder, INPUT_ARCHIVE), archive)
}

/** Reads the text that Vineflower wrote. @throws Error when there is none */
export function readDecompiledText(folder: string, outermost: string): string {
  return withArchive(join(folder, OUTPUT_ARCHIVE), (entries, source) => {
    const entry = entries.get(`${outermost}.java`)
    if (entry === undefined) throw new Error(`Vineflower returned no text for ${outermost}`)
    return decodeSource(readExtent(source, entry.extent, MAX_SOURCE_BYTES))
  })
}
