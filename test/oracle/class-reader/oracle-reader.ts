import { messageOf } from '../../../src/lib/errors/message.ts'
import type { ClassReader } from '../../support/analyzer/class-readers.ts'
import { openFacts, type ClassDiagnostic } from '../../../src/analyzer/bytecode/facts.ts'
import { addClass } from './class-facts.ts'
import { FactsBuilder } from './facts-builder.ts'
import { ClassFormatError } from './class-format-error.ts'
import { readClassFile } from './java-class-tools.ts'
import { checkStructure } from './structure.ts'

/**
 * Reads class files with java-class-tools, to compare with the addon's reader. An error beyond the file's
 * outer structure has offset 0.
 */
export const oracleReader: ClassReader = {
  is: 'oracle',
  readSlice(classFiles) {
    const builder = new FactsBuilder()
    const diagnostics: ClassDiagnostic[] = []
    for (const [input, bytes] of classFiles.entries()) {
      builder.mark()
      try {
        checkStructure(bytes)
        addClass(builder, readClassFile(bytes), input)
      } catch (error) {
        builder.takeBack()
        const offset = error instanceof ClassFormatError ? error.offset : 0
        diagnostics.push({ input, offset, message: messageOf(error) })
      }
    }
    return Promise.resolve({ facts: openFacts(builder.pack()), diagnostics })
  },
}
