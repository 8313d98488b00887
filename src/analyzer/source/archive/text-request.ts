import type { Source } from '../../classpath/source.ts'
import type { Language } from './source-text.ts'

/** Which class's source text is looked for. */
export interface TextRequest {
  readonly root: string
  readonly source: Source
  /** Folder, archive or image that the class comes from, as the index has it. */
  readonly location: string
  /** Internal name of the outermost class around it. */
  readonly outermost: string
  /** As the class file names it; undefined where it does not. */
  readonly sourceFile: string | undefined
  /** Only a text in this language. */
  readonly language: Language | undefined
  readonly repositories: LocalRepositories
}

/** Folders in which build tools keep what they have fetched. */
export interface LocalRepositories {
  readonly maven: string
  readonly gradle: string
}

/** Where a text can come from. */
export const SOURCE_ORIGINS = ['PROJECT_SOURCE', 'SOURCE_JAR', 'JDK_SOURCE', 'DECOMPILED'] as const
export type SourceOrigin = (typeof SOURCE_ORIGINS)[number]

export interface FoundText {
  readonly text: string
  /** Of a file, or of an entry behind "!/". */
  readonly filePath: string
  readonly language: Language
  readonly origin: Exclude<SourceOrigin, 'DECOMPILED'>
  /** Of the build, or of the JDK. */
  readonly module: string | null
}

export interface TextResult {
  readonly found: FoundText | undefined
  /** "group:artifact:version" of a library, as far as it tells. */
  readonly mavenCoordinates: string | null
}
