import type { Static } from 'typebox'
import type { Logger } from '../../lib/log/logger.ts'
import { Type } from '../../lib/schema/type.ts'
import type { Jvm } from './find-jvm.ts'

/** Class path from a build tool: the jars that all modules depend on, each once. */
export const buildToolClassPathSchema = Type.Object({
  tool: Type.Enum(['maven', 'gradle']),
  libraries: Type.Array(Type.String()),
  /** Class folders that the tool names, if any; they need not exist yet. */
  classFolders: Type.Array(Type.String()),
  /** Whether all modules were resolved. */
  isWhole: Type.Boolean(),
})

/** A decoded `buildToolClassPathSchema`. */
export type BuildToolClassPath = Readonly<Static<typeof buildToolClassPathSchema>>

/** Request for a project's class path. */
export interface BuildToolRequest {
  readonly root: string
  /** JVM to run the tool on; undefined for its default. */
  readonly jvm: Jvm | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
}
