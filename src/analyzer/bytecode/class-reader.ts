import type { ClassFault, Facts } from './facts.ts'

/** The facts of a slice, and why some of its class files gave none. */
interface Slice {
  readonly facts: Facts
  /** In the order of the inputs. */
  readonly faults: readonly ClassFault[]
}

/**
 * Reads compiled classes, some hundreds in a call. A class file that is truncated, damaged or no class file is one fault, and the
 * others are read; any major version from 45 on is accepted.
 */
export interface ClassReader {
  readonly is: 'native' | 'portable'
  /** The bytes must not change meanwhile. */
  readSlice(classFiles: readonly Uint8Array[]): Promise<Slice>
}
