import { loadAddon } from './load.ts'

/** What the addon answers for a slice of class files. */
export interface PackedFacts {
  /** The columns, as src/analyzer/bytecode/facts.ts describes them. The caller's own: it may be transferred. */
  readonly buffer: ArrayBuffer
  /** One for each class file that gave no facts, in the order of the inputs. */
  readonly faults: readonly PackedFault[]
}

interface PackedFault {
  /** Which of the inputs, from 0. */
  readonly input: number
  /** In bytes from the start of the class file. */
  readonly offset: number
  readonly message: string
}

/** The columns of the addon's buffers, "table.column:type …" in order; undefined without the addon. */
export function nativeFactsLayout(): string | undefined {
  const loaded = loadAddon()
  return loaded.is === 'loaded' ? loaded.addon.factsLayout() : undefined
}

/**
 * Reads class files on a thread of libuv. Their bytes must not change until it is done. A class file that cannot be read is
 * a fault, never an error.
 *
 * @throws Error when there is no addon: callers ask `nativeFactsLayout` first
 */
export function readClassFiles(files: readonly Uint8Array[]): Promise<PackedFacts> {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded')
    throw new Error(`reading class files natively needs the addon: ${loaded.reason}`)
  return loaded.addon.readClasses(files) as Promise<PackedFacts>
}
