import type { TextAnswer, TextQuestion } from './class-text.ts'
import { findJdkText } from './jdk-text.ts'
import { findLibraryText } from './library-text.ts'
import { coordinatesOf } from './maven-coordinates.ts'
import { findProjectText } from './project-text.ts'

/** Looks where a class's text may lie: in the project, in a library's sources, in the JDK's. Reads untrusted archives. */
export function findText(question: TextQuestion): TextAnswer {
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

/** What the file may be called, below a root of sources: "java/util/Map.java". */
function namesOf({ outermost, sourceFile, language }: TextQuestion): readonly string[] {
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
