import { describe, expect, it } from 'vitest'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { ClassView } from '../../support/analyzer/class-view.ts'
import { corpusJar } from '../../support/analyzer/corpora.ts'
import { compiled } from '../../support/analyzer/javac.ts'
import { jdeps } from '../../support/analyzer/jdeps.ts'

/** Named in a CONSTANT_MethodType alone, the erased types of a method reference, which jdeps passes over. */
const inMethodTypes = new Set(
  ['Integer', 'Long', 'Double'].map((name) => `com.google.common.collect.Streams -> java.lang.${name}`),
)

function namedInAnnotations(view: ClassView): ReadonlySet<string> {
  const { annotations, classes, elements } = view.facts
  const names = new Set<string>()
  const add = (descriptor: string | undefined) => {
    for (const [, name = ''] of descriptor?.matchAll(/L([^;]+);/g) ?? []) names.add(name.replaceAll('/', '.'))
  }
  const addElement = (row: number) => {
    const tag = String.fromCharCode(elements.tag[row] ?? 0)
    if (tag === 'e') add(view.text(elements.high[row]))
    if (tag === 'c') add(view.text(elements.value[row]))
    const first = elements.value[row] ?? 0
    if (tag === '[') for (let i = 0; i < (elements.high[row] ?? 0); i++) addElement(first + i)
  }
  for (const row of view.rows(classes.firstAnnotation, view.row)) {
    add(`L${view.text(annotations.type[row])};`)
    const start = annotations.elementStart[row] ?? 0
    for (let i = 0; i < (annotations.elementCount[row] ?? 0); i++) addElement(start + i)
  }
  return names
}

function namedInBounds(view: ClassView): readonly string[] {
  const { classes, methods } = view.facts
  const signatures = [
    view.text(classes.signature[view.row]),
    ...view.rows(classes.firstMethod, view.row).map((row) => view.text(methods.signature[row])),
  ]
  const generic = signatures.filter((signature) => signature?.startsWith('<') ?? false)
  return generic.flatMap((signature = '') =>
    [...signature.matchAll(/[:;[(<*+-]L([^;<]+)/g)].map(([, name = '']) => name.replaceAll('/', '.')),
  )
}

async function differences(path: string): Promise<string[]> {
  const expected = jdeps(path)
  const [container] = listClasses(path, 17).containers
  const found: string[] = []
  const { facts } = await readClasses(container!)
  const dotted = (name: string | undefined) => name?.replaceAll('/', '.') ?? ''
  for (const [row, id] of facts.classes.name.entries()) {
    const internal = facts.strings.get(id)
    const name = dotted(internal)
    if (name === 'module-info') continue
    const view = new ClassView(facts, internal)
    const ours = new Set(
      view
        .rows(facts.classes.firstReference, row)
        .map((each) => dotted(view.text(facts.references.name[each]))),
    )
    const theirs = expected.get(name) ?? new Set<string>()
    for (const each of theirs) if (!ours.has(each)) found.push(`${name} -> ${each} only by jdeps`)
    // jdeps reads neither the values of annotations nor those that are not visible at run time, nor bounds of type parameters.
    const unread = new Set([...namedInAnnotations(view), ...namedInBounds(view)])
    for (const each of ours)
      if (!theirs.has(each) && !unread.has(each) && !inMethodTypes.has(`${name} -> ${each}`))
        found.push(`${name} -> ${each} only by us`)
  }
  return found
}

describe('class dependencies match those of jdeps', { timeout: 300_000 }, () => {
  it('in the fixtures', async () => {
    expect(await differences(compiled('demo'))).toEqual([])
  })

  it.each(['guava-', 'spring3-core-', 'bcprov-', 'groovy-all-'])('in %s', async (name) => {
    expect(await differences(corpusJar(name))).toEqual([])
  })
})
