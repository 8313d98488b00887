import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { attributesOf } from '../../support/analyzer/class-attributes.ts'
import { nativeReader } from '../../support/analyzer/class-readers.ts'
import { classFilesBelow, compiled } from '../../support/analyzer/javac.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Attributes that the JVM refuses to be damaged, and this reader does not need. */
const UNREAD = new Set(['LocalVariableTypeTable', 'StackMapTable'])
const FILLS = [0x00, 0x01, 0x7f, 0xff]

it('A10 a class file with a damaged attribute is read exactly if the JVM accepts it', async () => {
  const folder = tempDir()
  const damaged = new Map<string, { readonly bytes: Uint8Array; readonly attribute: string }>()
  for (const bytes of classFilesBelow(compiled('loading', ['-g', '-parameters'])).values())
    for (const { name, at, length } of attributesOf(bytes))
      for (const fill of FILLS) {
        if (length === 0) continue
        const file = String(damaged.size).padStart(4, '0')
        const copy = Uint8Array.from(bytes).fill(fill, at, at + length)
        writeFileSync(join(folder, file), copy)
        damaged.set(file, { bytes: copy, attribute: `${name} filled with ${fill}` })
      }
  const classes = compiled('loading', ['-g', '-parameters'])
  const printed = execFileSync('java', ['-cp', classes, 'loading.Load', folder], { encoding: 'utf8' })
  const accepted = new Map(
    printed
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )
  expect(accepted.size).toBe(damaged.size)
  const differences: string[] = []
  for (const [file, { bytes, attribute }] of damaged) {
    const { facts, diagnostics } = await nativeReader.readSlice([bytes])
    expect(diagnostics.length, attribute).toBeLessThanOrEqual(1)
    const isRead = facts.classes.count === 1
    if (String(isRead) !== accepted.get(file) && !UNREAD.has(attribute.split(' ')[0] ?? ''))
      differences.push(`${attribute}: JVM ${accepted.get(file)}, reader ${isRead} ${diagnostics[0]?.message}`)
  }
  expect([...new Set(differences)]).toEqual([])
})
