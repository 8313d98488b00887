import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ByteSource, withFile } from '../../src/analyzer/classpath/byte-source.ts'
import {
  type ClassContainer,
  type ClassEntry,
  MAX_CLASS_BYTES,
} from '../../src/analyzer/classpath/class-container.ts'
import { withNestedArchive } from '../../src/analyzer/classpath/nested-archive.ts'
import { readExtent } from '../../src/analyzer/classpath/read-extent.ts'
import { messageOf } from '../../src/lib/errors/message.ts'
import type { PackedFacts } from '../../src/native/classfile.ts'
import { oracleReader } from './class-reader/oracle-reader.ts'

/** Reads classes as `readClasses` does, with node:zlib and java-class-tools. */
export async function readByOracle(
  container: ClassContainer,
  entries: readonly ClassEntry[],
): Promise<PackedFacts> {
  const files: Uint8Array[] = []
  const messages = new Map<number, string>()
  const add = (input: number, read: () => Uint8Array) => {
    try {
      files[input] = read()
    } catch (error) {
      messages.set(input, messageOf(error))
      files[input] = Buffer.alloc(0)
    }
  }
  if (container.kind === 'folder')
    for (const [input, { file }] of entries.entries())
      add(input, () => readFileSync(join(container.path, file)))
  else
    insideOf(container, (source) => {
      for (const [input, { extent }] of entries.entries())
        add(input, () =>
          extent === undefined ? Buffer.alloc(0) : readExtent(source, extent, MAX_CLASS_BYTES),
        )
    })
  const { facts, diagnostics } = await oracleReader.readSlice(files)
  return {
    buffer: facts.buffer,
    diagnostics: diagnostics.map((fault) => ({
      ...fault,
      message: messages.get(fault.input) ?? fault.message,
    })),
  }
}

function insideOf({ path, deflated }: ClassContainer, use: (source: ByteSource) => void): void {
  if (deflated === undefined) withFile(path, use)
  else withNestedArchive(path, deflated, use)
}
