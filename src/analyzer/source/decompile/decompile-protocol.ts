import type { PortableError } from '../../../lib/pool/portable-error.ts'

/** Class files by internal name. */
export type ClassFiles = ReadonlyMap<string, Uint8Array>

/**
 * Options of Vineflower. Kotlin classes are shown as Java too, because that represents their bytecode
 * exactly.
 */
export const VINEFLOWER_OPTIONS = { 'indent-string': '    ', 'kt-enable': '0' } as const

/** A class to decompile. */
export interface DecompileTask {
  readonly location: string
  /** Internal name of the outermost class; its nested classes are included. */
  readonly outermost: string
  /** Cache directory for decompiled texts. */
  readonly cacheDir: string
  /** Whether to decompile again instead of using the cache. */
  readonly isFresh: boolean
  /** Vineflower on a JVM, instead of its WebAssembly port. */
  readonly vineflower: VineflowerCommand | undefined
}

/** How to run Vineflower on a JVM. */
export interface VineflowerCommand {
  readonly home: string
  readonly jar: string
  readonly memoryMb: number
  readonly timeoutMs: number
}

/** A task for the child, which does not start a JVM but exchanges archives with one in a folder. */
export interface DecompileWork extends Omit<DecompileTask, 'vineflower'> {
  readonly vineflower: { readonly jar: string; readonly folder: string } | undefined
}

/** A decompiled text. */
export interface Decompiled {
  readonly text: string
  /** Module in the JDK's image. */
  readonly module: string | null
}

/** Messages to the child. `ran`: the JVM exited; `problem` is the reason if there is no text. */
export type DecompileCommand =
  | { readonly do: 'decompile'; readonly id: number; readonly task: DecompileWork }
  | { readonly do: 'located'; readonly request: number; readonly location: string | undefined }
  | { readonly do: 'ran'; readonly request: number; readonly problem: string | undefined }

/**
 * Messages from the child: a request for the location of a class, readiness for the JVM, and the result of a
 * task.
 */
export type DecompileReport =
  | { readonly is: 'asking'; readonly request: number; readonly name: string }
  | { readonly is: 'prepared'; readonly request: number }
  | { readonly is: 'done'; readonly id: number; readonly result: Decompiled }
  | { readonly is: 'failed'; readonly id: number; readonly error: PortableError }

/** The child's command line, as JSON. */
export interface DecompileSettings {
  readonly release: number
}
