import type { TextResult, TextRequest, FoundText } from './text-request.ts'
import { findLibraryText } from './library-text.ts'
import { coordinatesOf } from './maven-coordinates.ts'
import { findProjectText } from './project-text.ts'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readText } from './archive-text.ts'

/**
 * Searches for a class's text: in the project, in a library's sources or in the JDK's. Reads untrusted
 * archives.
 */
export function findText(question: TextRequest): TextResult {
  const { source, location } = question
  const names = namesOf(question)
  if (source === 'PROJECT') return { found: findProjectText(question, names), mavenCoordinates: null }
  if (source === 'JDK') return { found: findJdkText(location, names), mavenCoordinates: null }
  const coordinates = coordinatesOf(location)
  return {
    found: findLibraryText(location, coordinates, question.repositories, names),
    mavenCoordinates: coordinates === undefined ? null : Object.values(coordinates).join(':'),
  }
}

/** Returns the possible paths of the file, relative to a source root: "java/util/Map.java". */
function namesOf({ outermost, sourceFile, language }: TextRequest): readonly string[] {
  const slash = outermost.lastIndexOf('/') + 1
  const folder = outermost.slice(0, slash)
  const isPlain = sourceFile !== undefined && !/[/\\]/.test(sourceFile)
  const files = isPlain ? [sourceFile] : ['java', 'kt'].map((end) => `${outermost.slice(slash)}.${end}`)
  const end =
    language === undefined
      ? undefined
      : { java: '.java', kotlin: '.kt', groovy: '.groovy', scala: '.scala' }[language]
  return files.filter((file) => end === undefined || file.endsWith(end)).map((file) => folder + file)
}

/** Searches the `src.zip` of the JDK that an image or `rt.jar` belongs to. */
function findJdkText(location: string, names: readonly string[]): FoundText | undefined {
  const archive = sourceArchiveOf(location)
  if (archive === undefined) return undefined
  const found = readText(archive, names)
  if (found === undefined) return undefined
  const [name = ''] = names.filter((each) => found.entry.endsWith(each))
  const module = found.entry.slice(0, -name.length - 1)
  return { ...found, origin: 'JDK_SOURCE', module: module === '' ? null : module }
}

/**
 * Finds src.zip in `lib`, or up to Java 8 next to it; if sources are not installed, it may be a dangling
 * link.
 */
function sourceArchiveOf(location: string): string | undefined {
  let folder = dirname(location)
  for (let level = 0; level < 3; level++) {
    const archive = join(folder, 'src.zip')
    if (existsSync(archive)) return archive
    folder = dirname(folder)
  }
  return undefined
}
