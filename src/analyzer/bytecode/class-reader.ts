import { nativeFactsLayout, readClassFiles } from '../../native/classfile.ts'
import { factsLayout, openFacts, type ClassFault, type Facts } from './facts.ts'
import { portableReader } from './portable/portable-reader.ts'

/** The facts of a slice, and why some of its class files gave none. */
export interface Slice {
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

/** The reader of this machine: the addon's, or else the portable one, which takes about ten times as long. */
export function classReader(): ClassReader {
  return nativeFactsLayout() === factsLayout ? nativeReader : portableReader
}

/** Reads on a thread of libuv; a fault of its own would end the process, so untrusted bytes belong into a process apart. */
export const nativeReader: ClassReader = {
  is: 'native',
  async readSlice(classFiles) {
    const { buffer, faults } = await readClassFiles(classFiles)
    return { facts: openFacts(buffer), faults }
  },
}
