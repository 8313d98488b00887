import type { PortableError } from '../../../lib/pool/portable-error.ts'

/** By internal name. */
export type ClassFiles = ReadonlyMap<string, Uint8Array>

/** Of Vineflower. Kotlin's classes too are shown as Java, which is what their bytecode says for certain. */
export const VINEFLOWER_OPTIONS = { 'indent-string': '    ', 'kt-enable': '0' } as const

/** A class to decompile. */
export interface DecompileTask {
  readonly location: string
  /** Internal name of the outermost class: with it come all inside it. */
  readonly outermost: string
  /** Folder for what has been decompiled. */
  readonly cacheDir: string
  /** Whether to decompile what the cache has. */
  readonly isFresh: boolean
  /** The real Vineflower on a JVM, instead of its port to WebAssembly. */
  readonly vineflower: VineflowerCommand | undefined
}

export interface VineflowerCommand {
  readonly home: string
  readonly jar: string
  readonly memoryMb: number
  readonly timeoutMs: number
}

/** A task as the child gets it: it starts no JVM, but exchanges archives with one in a folder. */
export interface DecompileWork extends Omit<DecompileTask, 'vineflower'> {
  readonly vineflower: { readonly jar: string; readonly folder: string } | undefined
}

export interface Decompiled {
  readonly text: string
  /** Of the JDK's image. */
  readonly module: string | null
}

/** From the front process to the child. `ran`: the JVM has ended, `problem` says why without a text. */
export type DecompileCommand =
  | { readonly do: 'decompile'; readonly id: number; readonly task: DecompileWork }
  | { readonly do: 'located'; readonly request: number; readonly location: string | undefined }
  | { readonly do: 'ran'; readonly request: number; readonly problem: string | undefined }

/** From the child: where is a class that another one names, that the folder is ready for the JVM, and how a task ended. */
export type DecompileReport =
  | { readonly is: 'asking'; readonly request: number; readonly name: string }
  | { readonly is: 'prepared'; readonly request: number }
  | { readonly is: 'done'; readonly id: number; readonly result: Decompiled }
  | { readonly is: 'failed'; readonly id: number; readonly error: PortableError }

/** The child's command line, as JSON. */
export interface DecompileSettings {
  readonly release: number
}
