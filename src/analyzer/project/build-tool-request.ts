import type { Logger } from '../../lib/log/logger.ts'
import type { Jvm } from './find-jvm.ts'

/** What a build tool tells of a project: the jars that all its modules are built on, each once. */
export interface BuildToolClassPath {
  readonly tool: 'maven' | 'gradle'
  readonly libraries: readonly string[]
  /** Folders with classes of the project that the tool names, where it names any; they need not be there yet. */
  readonly classFolders: readonly string[]
  /** False where some modules did not tell theirs. */
  readonly isWhole: boolean
}

/** What a build tool is asked with. */
export interface BuildToolRequest {
  readonly root: string
  /** That the tool itself runs on; its own choice where there is none. */
  readonly jvm: Jvm | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
}
