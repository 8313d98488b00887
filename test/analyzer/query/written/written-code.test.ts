import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { checkRules } from '../../../support/analyzer/check-rules.ts'
import { lineIn } from '../../../support/analyzer/fixture-line.ts'
import { ringClass } from '../../../support/analyzer/ring-class.ts'
import { markedClass, renamedClass } from '../../../support/analyzer/renamed-class.ts'

const calleeOf = ({ calleeFqn, calleeName }: any): string => `${calleeFqn}#${calleeName}`

describe('code that a compiler made', () => {
  let analyzer: TestAnalyzer
  let old: TestAnalyzer
  beforeAll(async () => {
    ;[analyzer, old] = await Promise.all([
      startAnalyzer(projectOf('written')),
      startAnalyzer(projectOf('written', ['--release', '8'])),
    ])
  })
  afterAll(() => Promise.all([analyzer.stop(), old.stop()]))

  const callersOf = async (member: string, of = analyzer, parameters = {}): Promise<readonly string[]> => {
    const { callers } = await of.get(`/callers/${encodeURIComponent(member)}`, parameters)
    return callers.map(
      ({ classFqn, methodName, lineNumber, via }: Record<string, string>) =>
        `${classFqn?.slice(2)}#${methodName} ${via} @${lineNumber}`,
    )
  }
  const lineOf = (file: string, text: string): number => lineIn(`written/w/${file}.java`, text)

  test('hides no caller in a lambda that can be serialized, which $deserializeLambda$ refers to as well', async () => {
    const nested = lineOf('Tariff', 'Maker nested()')
    const callers = await callersOf('w.Tariff#weigh')
    expect(callers.toSorted()).toEqual(
      [
        `Tariff#plan lambda @${lineOf('Tariff', 'Step plan()')}`,
        `Tariff#plain methodRef @${lineOf('Tariff', 'Step plain()')}`,
        `Tariff#other lambda @${lineOf('Tariff', 'other()')}`,
        `Tariff#nested lambda @${nested}`,
        `Tariff#nested lambda @${nested}`,
      ].toSorted(),
    )
  })

  test('is listed with synthetic', async () => {
    const callers = await callersOf('w.Tariff#weigh', analyzer, { synthetic: true })
    expect(callers.filter((each) => each.startsWith('Tariff#lambda$'))).toHaveLength(4)
    const { methods } = await analyzer.get('/calls/w.Tariff', { synthetic: true })
    expect(methods.map(({ methodName }: any) => methodName)).toContain('$deserializeLambda$')
    const shown = await analyzer.get('/classes/w.Tariff', { synthetic: true })
    expect(shown.classInfo.methods.map(({ name }: any) => name)).toContain('$deserializeLambda$')
  })

  test('does not add uses: nothing refers to SerializedLambda', async () => {
    const { totalCount, references } = await analyzer.get('/xref/java.lang.invoke.SerializedLambda')
    expect([totalCount, references]).toEqual([0, []])
    const { outgoing } = await analyzer.get('/dependencies/w.Tariff', { includeLibraries: true })
    expect(outgoing.filter(({ classFqn }: any) => classFqn.endsWith('SerializedLambda'))).toEqual([])
    const rules = [
      { id: 'r', reason: 'test', mustNotUse: ['java.lang.invoke.SerializedLambda'] },
      { id: 'c', reason: 'test', mustNotCall: ['java.lang.IllegalArgumentException#<init>'] },
    ]
    expect((await checkRules(analyzer, rules)).violations).toEqual([])
  })

  test('counts references in lambdas once, for the methods around them', async () => {
    const { references, totalCount } = await analyzer.get('/xref/java.lang.String', {
      kind: 'CALL_RECEIVER',
      size: 1000,
    })
    expect(references).toHaveLength(totalCount)
    const own = references.filter(({ fromFqn }: any) => fromFqn === 'w.Tariff')
    expect(own.map(({ member }: any) => member)).toEqual(['weigh'])
  })

  test('counts calls by accessors for the nested class that uses them', async () => {
    const run = lineOf('Shout', 'last = hidden("a")')
    const later = lineOf('Shout', 'return () -> hidden("later")')
    for (const each of [analyzer, old])
      expect(await callersOf('w.Shout#hidden', each)).toEqual(
        expect.arrayContaining([
          `Shout$Inner#run call @${run}`,
          `Shout$Inner#later lambda @${later}`,
          `Shout#own call @${lineOf('Shout', 'return hidden(last)')}`,
        ]),
      )
    const { methods } = await old.get('/calls/w.Shout$Inner', { method: 'run' })
    expect(methods[0].calls.map(({ methodName }: any) => methodName)).toEqual(['hidden', 'own'])
  })

  test('does not make a bridge call the method that it stands for', async () => {
    const direct = lineOf('Shout', 'return left.compareTo(right);')
    expect(await callersOf('w.Shout#compareTo')).toEqual([expect.stringMatching(/^Shout#direct call @/)])
    expect(direct).toBeGreaterThan(0)
    expect(await callersOf('w.Shout$Covariant#make')).toEqual([expect.stringMatching(/^Shout#main call @/)])
    const { paths } = await analyzer.get('/path', { from: 'w.Shout#compared', to: 'w.Shout#compareTo' })
    expect(paths.map(({ length }: any) => length)).toEqual([1])
  })

  test('leaves the bridge to a method of an invisible class its name, in all answers alike', async () => {
    const seen = 'w.Shout$Seen#seen'
    const unseen = 'w.Shout$Unseen#seen'
    const line = lineOf('Shout', 'new Seen().seen()')
    expect(await callersOf(seen)).toEqual([`Shout#main call @${line}`])
    expect(await callersOf(unseen)).toEqual([])
    expect(await callersOf(unseen, analyzer, { includeSubtypes: true })).toEqual([`Shout#main call @${line}`])
    const { methods } = await analyzer.get('/calls/w.Shout', { method: 'main' })
    const called = methods[0].calls.filter(({ methodName }: any) => methodName === 'seen')
    expect(called.map(({ ownerType }: any) => ownerType)).toEqual(['w.Shout$Seen'])
    const xref = await analyzer.get('/xref/w.Shout$Seen', { kind: 'CALL_RECEIVER' })
    expect(xref.references.map(({ member, detail }: any) => `${member} ${detail}`)).toEqual(['main seen'])
    expect((await analyzer.get('/xref/w.Shout$Unseen', { kind: 'CALL_RECEIVER' })).references).toEqual([])
    for (const to of [seen, unseen]) {
      const { paths } = await analyzer.get('/path', { from: 'w.Shout#main', to })
      expect(paths.map(({ steps }: any) => steps.map(calleeOf))).toEqual([[to]])
      const { targets } = await analyzer.get('/reach', { from: 'w.Shout#main', to })
      expect(targets[0].steps.map(calleeOf)).toEqual([to])
    }
    for (const pattern of [seen, unseen, 'w.Shout$Seen#*']) {
      const rules = [{ id: 'seen', reason: 'test', mustNotCall: [pattern] }]
      const { violations } = await checkRules(analyzer, rules)
      expect(violations.filter(({ target }) => !target.includes('<init>'))).toEqual([
        expect.objectContaining({ member: 'main', lineNumber: line, target: `${seen}()` }),
      ])
    }
  })

  test('does not start paths from a class at its bridges', async () => {
    for (const [from, to] of [
      ['w.Shout$Seen', 'w.Shout$Unseen#seen'],
      ['w.Shout$Covariant', 'w.Shout$Covariant#make'],
    ] as const) {
      const { paths } = await analyzer.get('/path', { from, to })
      expect(paths).toEqual([])
    }
  })

  test('counts a lambda in an initializer for each constructor that runs it', async () => {
    const field = lineOf('Built', 'Built.given("field")')
    const other = lineOf('Built', 'loudly("initializer")')
    const expected = [field, field, other, other].map((line) => `Built#<init> lambda @${line}`)
    expect((await callersOf('w.Built#given')).toSorted()).toEqual(expected.toSorted())
    const { callers } = await analyzer.get(`/callers/${encodeURIComponent('w.Built#given')}`)
    const constructors = ['()V', '(I)V']
    expect([...new Set(callers.map(({ methodDescriptor }: any) => methodDescriptor))]).toEqual(constructors)
    const { totalCount, references } = await analyzer.get('/xref/w.Shout', {
      kind: 'CALL_RECEIVER',
      size: 1000,
    })
    expect(references).toHaveLength(totalCount)
    expect(references.filter(({ fromFqn }: any) => fromFqn === 'w.Built')).toHaveLength(2)
    const { paths } = await analyzer.get('/path', { from: 'w.Built#make', to: 'w.Built#given' })
    expect(paths.map(({ steps }: any) => steps.map(calleeOf))).toEqual([['w.Built#<init>', 'w.Built#given']])
    const rules = [{ id: 'given', reason: 'test', mustNotCall: ['w.Built#given'] }]
    const { violations } = await checkRules(analyzer, rules)
    expect(violations.map(({ descriptor }) => String(descriptor)).toSorted()).toEqual(constructors.toSorted())
  })

  test('names no method for the arrays of switches, which another method can use', async () => {
    expect((await analyzer.get('/xref/java.lang.NoSuchFieldError')).references).toEqual([])
    const usersOf = async (enumeration: string): Promise<readonly string[]> => {
      const { references } = await analyzer.get(`/xref/${encodeURIComponent(enumeration)}`, { size: 1000 })
      return references
        .filter(({ fromFqn }: any) => fromFqn.startsWith('w.Switches') && fromFqn !== enumeration)
        .map(({ fromFqn, member, kind, lineNumber }: any) => `${fromFqn}#${member} ${kind} @${lineNumber}`)
    }
    expect(await usersOf('w.Kind')).toEqual([
      'w.Switches#ofKind PARAM @null',
      `w.Switches#ofKind CALL_RECEIVER @${lineOf('Switches', 'switch (kind)')}`,
    ])
    expect(await usersOf('w.Switches$Size')).toEqual([
      'w.Switches$Nested#ofSize PARAM @null',
      `w.Switches$Nested#ofSize CALL_RECEIVER @${lineOf('Switches', 'switch (size)')}`,
    ])
    for (const each of ['w.Kind', 'w.Switches$Size']) expect(await callersOf(`${each}#values`)).toEqual([])
    const { outgoing } = await analyzer.get('/dependencies/w.Switches$Nested')
    const used = outgoing.filter(({ location }: any) => location !== null)
    expect([...new Set(used.map(({ classFqn }: any) => classFqn))]).toEqual(['w.Switches$Size'])
    const { edges } = await analyzer.get('/graph')
    expect(edges.filter(({ source, target }: any) => /Nested/.test(source) && /Kind/.test(target))).toEqual(
      [],
    )
    const rules = [
      { id: 'kind', reason: 'test', classes: ['w.Switches$Nested'], mustNotUse: ['w.Kind'] },
      { id: 'values', reason: 'test', classes: ['w.Switches*'], mustNotCall: ['w.Kind#values'] },
    ]
    expect((await checkRules(analyzer, rules)).violations).toEqual([])
  })

  test('shows accesses of fields by accessors as those of the fields', async () => {
    const accesses = async (of: TestAnalyzer, kind: string): Promise<readonly string[]> => {
      const { references, totalCount } = await of.get('/xref/w.Shout', { kind, size: 1000 })
      expect(references).toHaveLength(totalCount)
      return references.map(
        ({ fromFqn, member, detail, lineNumber }: any) => `${fromFqn}#${member} ${detail} @${lineNumber}`,
      )
    }
    const line = lineOf('Shout', 'shout.count += 2')
    expect(await accesses(old, 'FIELD_READ')).toContain(`w.Shout$Inner#run count @${line}`)
    for (const kind of ['FIELD_READ', 'FIELD_WRITE', 'CALL_RECEIVER'])
      expect((await accesses(old, kind)).toSorted()).toEqual((await accesses(analyzer, kind)).toSorted())
  })

  test('has its own names in a class that was asked for', async () => {
    const { references } = await analyzer.get('/xref/w.Switches$1')
    expect(references.map(({ member, detail }: any) => `${member} ${detail}`)).toEqual([
      'ofKind $SwitchMap$w$Kind',
      'ofSize $SwitchMap$w$Switches$Size',
    ])
  })

  test('counts for methods in violations', async () => {
    const rules = [{ id: 'noweigh', reason: 'test', mustNotCall: ['w.Tariff#weigh'] }]
    const { violations } = await checkRules(analyzer, rules)
    expect(violations.map(({ member }) => String(member)).toSorted()).toEqual([
      'nested',
      'other',
      'plain',
      'plan',
    ])
  })

  test('leaves its uses to what is dead or reached', async () => {
    const { classes } = await analyzer.get('/dead', { from: 'w.Shout#main' })
    const names = classes.flatMap(({ members }: any) => members.map(({ name }: any) => name))
    expect(names).toEqual(expect.arrayContaining(['dead', 'onlyInDeadLambda', 'unused']))
    for (const used of ['hidden', 'loudly', 'quietly', 'weigh', 'compareTo', 'own'])
      expect(names).not.toContain(used)
  })
})

describe('code that another compiler made', () => {
  const startWith = (edit: (classes: string) => void): Promise<TestAnalyzer> => {
    const root = projectOf('written')
    edit(join(root, 'target/classes'))
    return startAnalyzer(root)
  }
  const renamed = (classes: string, name: string, rename: (text: string) => string, addedFlags = 0): void => {
    const file = join(classes, `w/${name}.class`)
    writeFileSync(file, renamedClass(readFileSync(file), rename, addedFlags))
  }
  const callersOf = async (analyzer: TestAnalyzer, member: string): Promise<readonly string[]> => {
    const { callers } = await analyzer.get(`/callers/${encodeURIComponent(member)}`)
    return callers.map(({ classFqn, methodName }: any) => `${classFqn}#${methodName}`).toSorted()
  }
  const weighing = ['nested', 'nested', 'other', 'plain', 'plan'].map((name) => `w.Tariff#${name}`)

  test.each([
    ['ecj', (text: string) => text.replace(/^lambda\$\w+\$.*?(\d+)$/, 'lambda$$$1')],
    ['Kotlin', (text: string) => text.replace(/^lambda\$(\w+)\$(.*)$/, '$1$$lambda$$$2')],
    ['Scala', (text: string) => text.replace(/^lambda\$(\w+)\$(.*)$/, '$$anonfun$$$1$$$2')],
  ])('counts for the methods that refer to it, with names of %s', { tags: ['long'] }, async (_, rename) => {
    const analyzer = await startWith((classes) => renamed(classes, 'Tariff', rename))
    try {
      const callers = await callersOf(analyzer, 'w.Tariff#weigh')
      expect(callers.filter((each) => each.startsWith('w.Tariff'))).toEqual(weighing)
    } finally {
      await analyzer.stop()
    }
  })

  test('fills in arguments for the method that somebody called, or is part of those that call it', async () => {
    const root = projectOf('filled')
    const file = join(root, 'target/classes/k/Filled.class')
    writeFileSync(
      file,
      markedClass(readFileSync(file), (name) => name.includes('$')),
    )
    const analyzer = await startAnalyzer(root)
    try {
      expect(await callersOf(analyzer, 'k.Filled#sum')).toEqual([
        'k.Filled#use',
        'k.Other#call',
        'k.Other#later',
      ])
      const { methods } = await analyzer.get('/calls/k.Filled', { method: 'close' })
      const closing = methods[0].calls.filter(({ methodName }: any) => methodName === 'close')
      expect(await callersOf(analyzer, 'java.lang.AutoCloseable#close')).toEqual(
        closing.map(() => 'k.Filled#close'),
      )
    } finally {
      await analyzer.stop()
    }
  })

  test('counts for the method that encloses a class with ACC_SYNTHETIC', { tags: ['long'] }, async () => {
    const analyzer = await startWith((classes) => renamed(classes, 'Shout$1', (text) => text, 0x1000))
    try {
      expect(await callersOf(analyzer, 'w.Shout#quietly')).toEqual([
        'w.Kind#say',
        'w.Shout#nested',
        'w.Shout#serializable',
        'w.Shout$Unseen#seen',
      ])
      expect((await analyzer.get('/classes', { name: 'Shout$1' })).totalCount).toBe(0)
    } finally {
      await analyzer.stop()
    }
  })

  test('is shown if nobody wrote the class around it, in all answers alike', { tags: ['long'] }, async () => {
    const analyzer = await startWith((classes) => renamed(classes, 'Tariff', (text) => text, 0x1000))
    try {
      const { nodes } = await analyzer.get('/graph')
      expect(nodes.map(({ fqn }: any) => fqn)).toContain('w.Tariff')
      const { references } = await analyzer.get('/xref/java.lang.String', { kind: 'PARAM', size: 1000 })
      expect(references.map(({ fromFqn }: any) => fromFqn)).toContain('w.Tariff')
      expect(await callersOf(analyzer, 'w.Tariff#weigh')).toEqual(weighing)
      expect((await analyzer.get('/classes', { name: 'Tariff' })).totalCount).toBe(1)
    } finally {
      await analyzer.stop()
    }
  })

  test('is not what only has a name like it, without ACC_SYNTHETIC', async () => {
    const analyzer = await startAnalyzer(projectOf('lookalike'))
    try {
      const own = ['$deserializeLambda$', '$values', 'access$000', 'lambda$run$0']
      expect(await callersOf(analyzer, 'w.Lookalike#weigh')).toEqual(own.map((name) => `w.Lookalike#${name}`))
      const rules = [{ id: 'weigh', reason: 'test', mustNotCall: ['w.Lookalike#weigh'] }]
      const { violations } = await checkRules(analyzer, rules)
      expect(violations.map(({ member }) => String(member)).toSorted()).toEqual(own)
    } finally {
      await analyzer.stop()
    }
  })

  test(
    'counts for the class if only itself refers to it, in a ring of 15,000 methods',
    { tags: ['long'] },
    async () => {
      const analyzer = await startWith((classes) =>
        writeFileSync(join(classes, 'w/Ring.class'), ringClass('w/Ring', 15_000)),
      )
      try {
        const { methods, totalCalls } = await analyzer.get('/calls/w.Ring')
        expect(methods.map(({ methodName }: any) => methodName)).toEqual(['<clinit>'])
        expect(totalCalls).toBe(15_001)
        const { violations } = await checkRules(analyzer, [
          { id: 'ring', reason: 'test', mustNotCall: ['java.lang.System#gc'] },
        ])
        expect(violations.map(({ classFqn, member }) => [classFqn, member])).toEqual([['w.Ring', null]])
      } finally {
        await analyzer.stop()
      }
    },
  )
})
