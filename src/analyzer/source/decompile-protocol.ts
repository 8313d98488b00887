import type { PortableError } from '../../lib/pool/portable-error.ts'

/** By internal name. */
export type ClassFiles = ReadonlyMap<string, Uint8Array>

/** What the decompiler's process is asked. */
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
  readonly java: string
  readonly jar: string
  readonly memoryMb: number
  readonly timeoutMs: number
}

export interface Decompiled {
  readonly text: string
  /** Of the JDK's image. */
  readonly module: string | null
}

/** From the front process to the child. */
export type DecompileOrder =
  | { readonly do: 'decompile'; readonly id: number; readonly task: DecompileTask }
  | { readonly do: 'located'; readonly ask: number; readonly location: string | undefined }

/** From the child: where is a class that another one names, and how a task ended. */
export type DecompileReport =
  | { readonly is: 'asking'; readonly ask: number; readonly name: string }
  | { readonly is: 'done'; readonly id: number; readonly result: Decompiled }
  | { readonly is: 'failed'; readonly id: number; readonly error: PortableError }

/** The child's command line, as JSON. */
export interface DecompileSettings {
  readonly release: number
}
