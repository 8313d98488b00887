import { type ClassDiagnostic, type Facts, openFacts } from '../../../src/analyzer/bytecode/facts.ts'
import { readClassFiles } from '../../../src/native/classfile.ts'

/** Facts of a slice, and diagnostics for class files without facts. */
interface Slice {
  readonly facts: Facts
  /** In the order of the inputs. */
  readonly diagnostics: readonly ClassDiagnostic[]
}

/**
 * Reads some hundred compiled classes. A class file that is truncated, damaged or invalid is one diagnostic,
 * and the others are read; any major version from 45 on is accepted.
 */
export interface ClassReader {
  readonly is: 'native' | 'oracle'
  /** The bytes must not change meanwhile. */
  readSlice(classFiles: readonly Uint8Array[]): Promise<Slice>
}

/** The addon's reader. A bug in it crashes the process. */
export const nativeReader: ClassReader = {
  is: 'native',
  async readSlice(classFiles) {
    const { buffer, diagnostics } = await readClassFiles(classFiles)
    return { facts: openFacts(buffer), diagnostics }
  },
}
