import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  emptyProject,
  projectOf,
  startAnalyzer,
  type TestAnalyzer,
} from '../../../support/analyzer/analyzer-server.ts'
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

/** Strings are added as for Java 8, and equal lambdas are not shared: only accessors differ. */
const DIRECT = ['-XDstringConcat=inline', '-XDdeduplicateLambdas=false']

/** Access constructors and accessors have further parameters. */
const SIGNATURES = new Set(['descriptor', 'methodDescriptor', 'calledDescriptor', 'constantArgs'])

/** Returns the rows of an answer as texts in any order, for which it does not matter how members are accessed. */
function rowsOf({ request, answer }: Asked): readonly string[] {
  const { callers, references, methods, violations } = answer as Readonly<Record<string, readonly object[]>>
  const rows = request.startsWith('/calls/')
    ? methods?.flatMap(({ calls, ...method }: any) => calls.map((call: object) => ({ ...method, ...call })))
    : (callers ?? references ?? violations)
  return (rows ?? [])
    .flatMap((row: any) => {
      // Accessors pass texts on as objects, and the enum of an older compiler is not sealed.
      const isText = [row.detail, row.methodName, row.target].some((name) => /\bappend\b/.test(name))
      if (isText || row.kind === 'PERMITS') return []
      return [JSON.stringify(row, (key, value) => (SIGNATURES.has(key) ? undefined : value))]
    })
    .toSorted()
}

test('every answer about calls, references and rules is the same with accessors and without', async () => {
  const [direct, accessed] = await Promise.all(
    [DIRECT, [...DIRECT, '--release', '8']].map(async (options) => {
      const analyzer = await startAnalyzer(projectOf('written', options))
      try {
        return await allAnswers(analyzer, declared, TYPES)
      } finally {
        await analyzer.stop()
      }
    }),
  )
  const expected = new Map(direct?.map((asked) => [asked.request, rowsOf(asked)]))
  const differing = accessed?.filter((asked) => {
    if (!/^(?:\/callers|\/calls|\/xref|rule (?:use|only|used|call|access)) ?/.test(asked.request))
      return false
    return rowsOf(asked).join('\n') !== expected.get(asked.request)?.join('\n')
  })
  expect(differing?.map(({ request }) => request)).toEqual([])
})

test('every user of a private member is a caller, regardless of their number', async () => {
  const users = Array.from({ length: 300 }, (_, at) => `void m${at}() { log(); field = ${at}; }`)
  const source = `package w; class Wide { private static void log() {} private static int field;
    static class In {
      ${users.join('\n')}
    }
    ${users.map((_, at) => `Runnable r${at}() { return () -> System.gc(); }`).join('\n')}
  }`
  const root = emptyProject()
  const classes = join(root, 'target/classes')
  mkdirSync(classes, { recursive: true })
  writeFileSync(join(root, 'Wide.java'), source)
  execFileSync('javac', ['-nowarn', '--release', '8', '-g:source', '-d', classes, join(root, 'Wide.java')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const analyzer = await startAnalyzer(root)
  try {
    const all = { size: 1000 }
    const { callers, totalCount } = await analyzer.get('/callers/w.Wide%23log', all)
    expect([callers.length, totalCount]).toEqual([300, 300])
    const written = await analyzer.get('/xref/w.Wide', { ...all, kind: 'FIELD_WRITE' })
    expect([written.references.length, written.totalCount]).toEqual([300, 300])
    const lambdas = await analyzer.get('/callers/java.lang.System%23gc', all)
    expect(new Set(lambdas.callers.map(({ methodName }: any) => methodName)).size).toBe(300)
  } finally {
    await analyzer.stop()
  }
})

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
