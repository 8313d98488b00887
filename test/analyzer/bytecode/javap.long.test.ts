import { describe, expect, it } from 'vitest'
import { TARGET } from '../../../src/analyzer/bytecode/columns.ts'
import type { Facts } from '../../../src/analyzer/bytecode/facts.ts'
import type { ClassContainer, ClassEntry } from '../../../src/analyzer/classpath/class-container.ts'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { corpusJar, javaBase } from '../../support/analyzer/corpora.ts'
import { ClassView } from '../../support/analyzer/class-view.ts'
import { javap, type PrintedClass } from '../../support/analyzer/javap.ts'
import { rounds } from '../../support/rounds.ts'

const opcodes = ['invokevirtual', 'invokespecial', 'invokestatic', 'invokeinterface'] as const

/** Our facts of one class in the words that javap prints. */
function inWords(facts: Facts, name: string): PrintedClass {
  const view = new ClassView(facts, name)
  const { classes, fields, methods, calls, annotations } = facts
  const text = (column: Int32Array, row: number) => view.text(column[row])
  const words: PrintedClass = { name, fields: [], methods: new Map(), annotations: [] }
  for (const row of view.rows(classes.firstField, view.row))
    words.fields.push(`${text(fields.name, row)} ${text(fields.descriptor, row)}`)
  for (const row of view.rows(classes.firstMethod, view.row))
    words.methods.set(
      `${text(methods.name, row)} ${text(methods.descriptor, row)}`,
      view.rows(methods.firstCall, row).map((call) => {
        const target = `${text(calls.owner, call)}.${text(calls.name, call)}:${text(calls.descriptor, call)}`
        return `${opcodes[(calls.opcode[call] ?? 0) - 182]} ${target} @${calls.line[call]}`
      }),
    )
  for (const row of view.rows(classes.firstAnnotation, view.row)) {
    const kind = annotations.targetKind[row]
    if (kind === TARGET.ANNOTATION || kind === TARGET.ANNOTATION_DEFAULT) continue
    words.annotations.push(text(annotations.type, row)?.replaceAll('/', '.') ?? '')
  }
  return words
}

async function expectAsPrinted(
  container: ClassContainer,
  entries: readonly ClassEntry[],
  where: readonly string[],
) {
  let calls = 0
  for (let at = 0; at < entries.length; at += 400) {
    const slice = entries.slice(at, at + 400)
    const { facts, problems } = await readClasses(container, slice)
    expect(problems).toEqual([])
    const printed = javap(
      where,
      slice.map(({ name }) => name.replaceAll('/', '.')),
    )
    expect(printed.size).toBe(slice.length)
    for (const [name, each] of printed) {
      const ours = inWords(facts, name)
      expect(ours.fields).toEqual(each.fields)
      expect([...ours.methods]).toEqual([...each.methods])
      expect(ours.annotations.toSorted()).toEqual(each.annotations.toSorted())
      for (const list of each.methods.values()) calls += list.length
    }
  }
  return calls
}

describe('calls, lines, fields and annotations match those of javap', { timeout: 600_000 }, () => {
  it('in classes of java.base', async () => {
    const base = javaBase()
    const step = rounds(20, 5)
    const some = base.classes.filter(({ name }, i) => i % step === 0 && name !== 'module-info')
    expect(await expectAsPrinted(base, some, [])).toBeGreaterThan(150_000 / step)
  })

  it.each([
    ['kotlin-compiler-1.', rounds(60, 15)],
    ['spring3-core-', rounds(4, 1)],
    ['guava-', rounds(12, 3)],
  ])('in classes of %s', async (name, step) => {
    const path = corpusJar(name)
    const [jar] = listClasses(path, 17).containers
    const some = jar!.classes.filter((entry, i) => i % step === 0 && entry.name !== 'module-info')
    expect(await expectAsPrinted(jar!, some, ['-cp', path])).toBeGreaterThan(rounds(1250, 5000))
  })
})
