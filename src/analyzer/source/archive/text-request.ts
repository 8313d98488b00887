import type { Source } from '../../classpath/source.ts'
import type { Language } from './source-text.ts'

/** Request for a class's source text. */
export interface TextRequest {
  readonly root: string
  readonly source: Source
  /** Folder, archive or image of the class, as in the index. */
  readonly location: string
  /** Internal name of the outermost enclosing class. */
  readonly outermost: string
  /** Source file named in the class file; undefined if missing. */
  readonly sourceFile: string | undefined
  /** Restricts the result to a language. */
  readonly language: Language | undefined
  readonly repositories: LocalRepositories
}

/** Folders where build tools cache what they downloaded. */
export interface LocalRepositories {
  readonly maven: string
  readonly gradle: string
}

/** Possible origins of a text. */
export const SOURCE_ORIGINS = ['PROJECT_SOURCE', 'SOURCE_JAR', 'JDK_SOURCE', 'DECOMPILED'] as const
/** Origin of a text. */
export type SourceOrigin = (typeof SOURCE_ORIGINS)[number]

/** A source text. */
export interface FoundText {
  readonly text: string
  /** Path of a file; an archive's entry follows "!/". */
  readonly filePath: string
  readonly language: Language
  readonly origin: Exclude<SourceOrigin, 'DECOMPILED'>
  /** Module of the build or JDK. */
  readonly module: string | null
}

/** Result of a request for a text. */
export interface TextResult {
  readonly found: FoundText | undefined
  /** "group:artifact:version" of a library, if known. */
  readonly mavenCoordinates: string | null
}
