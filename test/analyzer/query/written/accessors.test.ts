import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { checkRules } from '../../../support/analyzer/check-rules.ts'
import { lineIn } from '../../../support/analyzer/fixture-line.ts'

/** Strings are added as for Java 8, so that only the accessors differ. */
const NEST_MATES = ['-XDstringConcat=inline']

const lineOf = (text: string): number => lineIn('written/w/Guarded.java', text)
const INSIDE = 'w.Guarded$Inside'

describe('private members that nested classes use by accessors', () => {
  let direct: TestAnalyzer
  let accessed: TestAnalyzer
  let shared: TestAnalyzer
  beforeAll(async () => {
    ;[direct, accessed, shared] = await Promise.all([
      startAnalyzer(projectOf('written', NEST_MATES)),
      startAnalyzer(projectOf('written', ['--release', '8'])),
      startAnalyzer(projectOf('written', ['-g:source'])),
    ])
  })
  afterAll(() => Promise.all([direct, accessed, shared].map((each) => each.stop())))

  const inBoth = async <T>(ask: (of: TestAnalyzer) => Promise<T>): Promise<readonly [T, T]> =>
    Promise.all([ask(accessed), ask(direct)])

  test.each(['note', 'named', 'keep', '<init>'])(
    'have the callers of %s, one for each call',
    async (name) => {
      const [found, expected] = await inBoth(async (of) => {
        const { callers, totalCount } = await of.get(`/callers/${encodeURIComponent(`w.Guarded#${name}`)}`)
        expect(callers).toHaveLength(totalCount)
        return callers
          .map((each: any) => `${each.classFqn}#${each.methodName} ${each.via} @${each.lineNumber}`)
          .toSorted()
      })
      expect(found).toEqual(expected)
    },
  )

  test.each(['FIELD_READ', 'FIELD_WRITE', 'CALL_RECEIVER'])('have the references %s', async (kind) => {
    const [found, expected] = await inBoth(async (of) => {
      const { references, totalCount } = await of.get('/xref/w.Guarded', { kind, size: 1000 })
      expect(references).toHaveLength(totalCount)
      return references
        .map((each: any) => `${each.fromFqn}#${each.member} ${each.detail} @${each.lineNumber}`)
        .toSorted()
    })
    expect(found).toEqual(expected)
  })

  test('are called with the arguments that somebody wrote, and are not taken for the first call in an accessor', async () => {
    const [found, expected] = await inBoth(async (of) => {
      const { methods } = await of.get(`/calls/${encodeURIComponent(INSIDE)}`)
      return methods.map(({ methodName, calls }: any) => [
        methodName,
        calls.map((each: any) => {
          // An accessor passes the text on as its parameter.
          const isText = each.ownerType === 'java.lang.StringBuilder'
          const values = (isText ? [] : each.constantArgs)
            .map(({ index, value }: any) => `${index}=${value}`)
            .join(' ')
          return `${each.ownerType}#${each.methodName}(${values}) @${each.lineNumber}`
        }),
      ])
    })
    expect(found).toEqual(expected)
    const note = lineOf('Guarded.this.note(5')
    expect(found).toContainEqual(['note', [`w.Guarded#note(0=5 1=five) @${note}`]])
  })

  test('have violations where the accessors are used, also for types that only accessors name', async () => {
    const line = lineOf('text += "more"')
    const rules = [
      {
        id: 'use',
        reason: 'test',
        classes: ['w.Guarded', INSIDE],
        mustNotUse: ['java.lang.StringBuilder'],
      },
    ]
    const [found, expected] = await inBoth(async (of) => {
      const { violations } = await checkRules(of, rules)
      return violations
        .map(({ classFqn, member, lineNumber }) => `${classFqn}#${member} @${lineNumber}`)
        .toSorted()
    })
    expect(found).toEqual(expected)
    expect(found).toContain(`${INSIDE}#add @${line}`)
  })

  test('are dependencies of nested classes, also if only fields are used', async () => {
    const [found, expected] = await inBoth(async (of) => {
      const { outgoing } = await of.get(`/dependencies/${encodeURIComponent('w.Guarded$Reset')}`)
      return outgoing.map(({ classFqn, location }: any) => `${classFqn} ${location}`)
    })
    expect(found).toEqual(expected)
    expect(found).toEqual(['w.Guarded reset'])
  })

  test('are called in methods that are chosen by what they return', async () => {
    const [found, expected] = await inBoth(async (of) => {
      const { methods } = await of.get(`/calls/${encodeURIComponent(INSIDE)}`, { inMethodsReturning: 'void' })
      return methods.map(({ methodName, calls }: any) => `${methodName} ${calls.length}`)
    })
    expect(found).toEqual(expected)
    expect(found).toContain('add 4')
  })

  test('are reached from the lines of lambdas that use them', async () => {
    const line = lineOf('private static String named') + 1
    const [found, expected] = await inBoth(async ({ url, token }) => {
      const response = await fetch(`${url}/api/v1/impact`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ files: [{ path: 'w/Guarded.java', lines: [[line, line]] }], of: 'method' }),
      })
      const { affected } = (await response.json()) as any
      return affected
        .flatMap(({ steps }: any) => steps)
        .map((each: any) => `${each.classFqn}#${each.methodName} > ${each.calleeName} @${each.lineNumber}`)
        .toSorted()
    })
    expect(found).toEqual(expected)
    expect(found).not.toEqual([])
  })

  test('do not make an anonymous class a dependency, by which their constructors differ', async () => {
    const users = async (of: TestAnalyzer): Promise<readonly string[]> => {
      const { incoming } = await of.get(`/dependencies/${encodeURIComponent('w.Guarded$1')}`)
      return incoming.map(({ classFqn, location }: any) => `${classFqn}#${location}`)
    }
    expect(await inBoth(users)).toEqual([['w.Guarded#make'], ['w.Guarded#make']])
    const { edges } = await accessed.get('/graph')
    const sources = edges
      .filter(({ target }: any) => target === 'w.Guarded$1')
      .map(({ source }: any) => source)
    expect([...new Set(sources)]).toEqual(['w.Guarded'])
  })

  test('leave the line of the class to the class when it changes', async () => {
    const changed = {
      files: [{ path: 'w/Guarded.java', lines: [[lineOf('public class'), lineOf('public class')]] }],
    }
    const [found, expected] = await inBoth(async ({ url, token }) => {
      const response = await fetch(`${url}/api/v1/impact`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...changed, of: 'method' }),
      })
      const { changes } = (await response.json()) as any
      return changes.map(({ classFqn, member }: any) => `${classFqn}#${member}`)
    })
    expect(found).toEqual(expected)
    expect(found).toContain('w.Guarded#null')
  })

  test('count code that equal lambdas share for each of them, on every page', async () => {
    const { totalCount, callers } = await shared.get('/callers/w.Guarded%23named', { size: 100 })
    const inShared = callers.filter(({ classFqn }: any) => classFqn === 'w.Guarded$Shared')
    expect(inShared.map(({ methodName }: any) => methodName).toSorted()).toEqual(['one', 'three', 'two'])
    const pages = await Promise.all(
      Array.from({ length: totalCount }, (_, page) =>
        shared.get('/callers/w.Guarded%23named', { size: 1, page }),
      ),
    )
    expect(pages.flatMap((page) => page.callers)).toEqual(callers)
  })

  test('name no method for the assertions of an interface', async () => {
    for (const of of [direct, accessed]) {
      const { callers } = await of.get('/callers/java.lang.Class%23desiredAssertionStatus')
      expect(callers.map(({ classFqn, methodName }: any) => `${classFqn}#${methodName}`)).toEqual([
        'w.Shout#<clinit>',
      ])
    }
  })
})
