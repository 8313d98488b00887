import type { Snapshot } from '../query/snapshot.ts'

/** A class path problem. */
interface Diagnostic {
  /** Folder, archive or class file; an archive's entry follows "!/". */
  readonly path: string
  /** Byte offset, if known. */
  readonly offset?: number
  readonly message: string
}

/** Result of one scan of a project. */
export interface Scan {
  readonly snapshot: Snapshot
  /** How the class path was resolved, with the reason for a fallback. */
  readonly classpathResolvedBy: string
  readonly classpathEntryCount: number
  readonly durationMs: number
  readonly scannedAt: Date
  /** Number of class files that were read; others were cached. */
  readonly readCount: number
  readonly diagnostics: readonly Diagnostic[]
  /** Why there is nothing to ask about; undefined if the project has classes. */
  readonly problem: string | undefined
}
