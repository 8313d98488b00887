import type { Snapshot } from '../query/snapshot.ts'

/** Something in a class path that could not be read. */
interface Diagnostic {
  /** Folder, archive, or class file; an archive's entry behind "!/". */
  readonly path: string
  /** In bytes, where it is known. */
  readonly offset?: number
  readonly message: string
}

/** A project as one scan found it. */
export interface Scan {
  readonly snapshot: Snapshot
  /** How the class path was found, and why not otherwise. */
  readonly classpathResolvedBy: string
  readonly classpathEntryCount: number
  readonly durationMs: number
  readonly scannedAt: Date
  /** Class files that were read; the others were known. */
  readonly readCount: number
  readonly diagnostics: readonly Diagnostic[]
}
