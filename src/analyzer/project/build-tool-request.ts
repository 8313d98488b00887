import type { Logger } from '../../lib/log/logger.ts'
import type { Jvm } from './find-jvm.ts'

/** Class path from a build tool: the jars that all modules depend on, each once. */
export interface BuildToolClassPath {
  readonly tool: 'maven' | 'gradle'
  readonly libraries: readonly string[]
  /** Class folders that the tool names, if any; they need not exist yet. */
  readonly classFolders: readonly string[]
  /** Whether all modules were resolved. */
  readonly isWhole: boolean
}

/** Request for a project's class path. */
export interface BuildToolRequest {
  readonly root: string
  /** JVM to run the tool on; undefined for its default. */
  readonly jvm: Jvm | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
}
