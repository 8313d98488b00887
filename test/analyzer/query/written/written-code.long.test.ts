import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { allAnswers, type Asked } from '../../../support/analyzer/declared/all-answers.ts'
import { declaredNames } from '../../../support/analyzer/declared/declared-names.ts'

const TYPES = [
  'java.lang.String',
  'java.lang.Object',
  'java.lang.Enum',
  'java.io.IOException',
  'java.io.Serializable',
  'java.lang.Comparable',
  'java.lang.invoke.SerializedLambda',
  'java.util.function.Supplier',
  'java.lang.Override',
]
/** Names that only a compiler gives. */
const COMPILED =
  /\blambda\$|\baccess\$\d|\$deserializeLambda\$|\$values\b|\$VALUES|\$SwitchMap|\b(?:this|val)\$|\$assertionsDisabled/
const CLASS = /\bw\.[A-Z][\w$]*/g
/** Keys of answers that name a member, by the key that names its class. */
const MEMBERS = [
  ['classFqn', ['methodName', 'member', 'method', 'field']],
  ['calleeFqn', ['calleeName']],
  ['fromFqn', ['member']],
] as const

const declared = declaredNames('written')

/** Returns what an answer names that no source declares. */
function undeclaredIn(answer: unknown): readonly string[] {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (COMPILED.test(value)) found.push(value)
      for (const [name] of value.matchAll(CLASS)) if (!declared.has(name)) found.push(name)
      return
    }
    if (typeof value !== 'object' || value === null) return
    const row = value as Readonly<Record<string, unknown>>
    for (const [key, members] of MEMBERS)
      for (const member of members) {
        const [owner, name] = [row[key], row[member]]
        if (typeof owner !== 'string' || typeof name !== 'string' || name === '') continue
        if (declared.has(owner) && !declared.has(`${owner}#${name}`)) found.push(`${owner}#${name}`)
      }
    // Keys of violations have no numbers of anonymous classes.
    for (const [key, each] of Object.entries(row)) if (key !== 'key') visit(each)
  }
  visit(answer)
  return found
}

describe.each([
  ['the JDK of the tests', []],
  ['Java 8, with accessors', ['--release', '8']],
])('compiled for %s', (_, options) => {
  let analyzer: TestAnalyzer
  let asked: readonly Asked[]
  beforeAll(async () => {
    analyzer = await startAnalyzer(projectOf('written', options))
    asked = await allAnswers(analyzer, declared, TYPES)
  })
  afterAll(() => analyzer.stop())

  test('no answer of any query names code that nobody wrote', () => {
    const wrong = asked.flatMap(({ request, answer }) =>
      undeclaredIn(answer).map((name) => `${request}: ${name}`),
    )
    expect(wrong).toEqual([])
  })
})
