import { readClassFiles, readsNatively } from '../../native/classfile.ts'
import type { ClassReader } from './class-reader.ts'
import { factsLayout, openFacts } from './facts.ts'
import { portableReader } from './portable/portable-reader.ts'

/** The reader of this machine: the addon's, or else the portable one, which takes about ten times as long. */
export function classReader(): ClassReader {
  return readsNatively({ facts: factsLayout }) ? nativeReader : portableReader
}

/** Reads on a thread of libuv; a fault of its own would end the process, so untrusted bytes belong into a process apart. */
export const nativeReader: ClassReader = {
  is: 'native',
  async readSlice(classFiles) {
    const { buffer, faults } = await readClassFiles(classFiles)
    return { facts: openFacts(buffer), faults }
  },
}
