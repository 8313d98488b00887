import { basename } from 'node:path'
import { readExtent } from '../../classpath/read-extent.ts'
import type { ZipEntry } from '../../classpath/zip-directory.ts'
import { withArchive } from './archive-entries.ts'
import { isOfPackage } from '../java/kotlin-package.ts'
import { decodeSource, languageOf, type Language, MAX_SOURCE_BYTES } from './source-text.ts'

/** Maximum number of files with one name to read. */
const MAX_CANDIDATES = 64

interface ArchiveText {
  readonly text: string
  readonly filePath: string
  readonly entry: string
  readonly language: Language
}

/**
 * Reads the first of some source files that an archive has, at its root or in the folder of a module or
 * source set ("java.base/java/util/Map.java", "commonMain/kotlin/text/Regex.kt").
 *
 * @throws as `withArchive` and `readExtent`
 */
export function readText(archive: string, names: readonly string[]): ArchiveText | undefined {
  return withArchive(archive, (entries, source) => {
    const read = (entry: ZipEntry): string => decodeSource(readExtent(source, entry.extent, MAX_SOURCE_BYTES))
    for (const name of names) {
      const language = languageOf(name)
      if (language === undefined) continue
      const below = [...entries.values()].filter((each) => each.name.endsWith(`/${name}`))
      const entry = entries.get(name) ?? shortest(below) ?? elsewhere([...entries.values()], name, read)
      if (entry === undefined) continue
      return { text: read(entry), filePath: `${archive}!/${entry.name}`, entry: entry.name, language }
    }
    return undefined
  })
}

/** Kotlin's folders can differ from its packages. */
function elsewhere(
  entries: readonly ZipEntry[],
  name: string,
  read: (entry: ZipEntry) => string,
): ZipEntry | undefined {
  if (!name.endsWith('.kt')) return undefined
  const file = basename(name)
  const candidates = entries.filter((each) => basename(each.name) === file).slice(0, MAX_CANDIDATES)
  return shortest(candidates.filter((each) => isOfPackage(read(each), name)))
}

function shortest<Named extends { readonly name: string }>(all: readonly Named[]): Named | undefined {
  return all.toSorted((a, b) => a.name.length - b.name.length || (a.name < b.name ? -1 : 1))[0]
}
