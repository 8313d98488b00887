import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { sample } from '../../support/rounds.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('typeuse', ['--release', '17']))
})
afterAll(() => analyzer.stop())

describe('annotations on types (JVMS §4.7.20)', () => {
  const usages = async (fqn: string): Promise<readonly string[]> => {
    const { usages: all } = await analyzer.get(`/annotations/usages/${fqn}`, { size: 200 })
    return all.map(({ target, field, method, parameterIndex, onType }: any) =>
      [target, field ?? method ?? '', parameterIndex ?? '', onType ?? '']
        .join(' ')
        .replace(/ +/gu, ' ')
        .trim(),
    )
  }

  test('are found wherever a type is written', async () => {
    expect((await usages('typeuse.Nullable')).toSorted()).toEqual([
      'CLASS bound 0 of type parameter 0',
      'CLASS interface 0',
      'CLASS the superclass',
      'FIELD elements the array’s elements of the field’s type',
      'FIELD field the field’s type',
      'FIELD inside type argument 0 of the field’s type',
      'FIELD nested the field’s type',
      'FIELD nested the wildcard’s bound of type argument 1 of the field’s type',
      'METHOD method a cast',
      'METHOD method exception 0',
      'METHOD method the receiver’s type',
      'METHOD method the return type',
      'PARAMETER <init> 2 the parameter’s type',
      'PARAMETER method 0 the parameter’s type',
      'PARAMETER method 1 type argument 0 of the parameter’s type',
    ])
    const { totalCount, countsByKind } = await analyzer.get('/xref/typeuse.Nullable')
    expect([totalCount, countsByKind]).toEqual([15, { ANNOTATION: 15 }])
  })

  test('that also apply to the declaration are listed once', async () => {
    expect(await usages('typeuse.Both')).toEqual([
      'FIELD both',
      'FIELD bothInside type argument 0 of the field’s type',
      'METHOD returned',
      'PARAMETER returned 0',
    ])
  })
})

describe('references', () => {
  const xref = async (parameters = {}): Promise<readonly string[]> => {
    const { references } = await analyzer.get('/xref/typeuse.Foo', { size: 200, ...parameters })
    return references.map(({ fromSimpleName, kind, member, lineNumber }: any) =>
      [fromSimpleName, kind, (member ?? '').replace(/\(.*/u, ''), lineNumber === null ? '' : 'line']
        .join(' ')
        .trim(),
    )
  }

  test('are complete: generic signatures, inner, enum and local constructors, type variables, code', async () => {
    expect(await xref()).toEqual([
      'Uses FIELD variable',
      'Uses PARAM bounded',
      'Uses PARAM local',
      'Uses RETURN boundedReturn',
      'Uses TYPE_PARAMETER',
      'Uses TYPE_PARAMETER bounded',
      'Uses TYPE_PARAMETER boundedReturn',
      'Uses FIELD_READ code line',
      'Uses FIELD_WRITE code line',
      'Uses CAST code line',
      'Uses INSTANCEOF code line',
      'Uses ARRAY_CREATION code line',
      'Uses ARRAY_CREATION code line',
      'Uses CLASS_LITERAL code line',
      'Uses METHOD_REFERENCE code line',
      'Local PARAM <init>',
      'Local PARAM <init>',
      'Circle FIELD center',
      'Circle PARAM <init>',
      'Circle PARAM compareTo',
      'Circle RETURN center',
      'Circle RECORD_COMPONENT center',
      'Circle TYPE_ARGUMENT',
      'Circle CAST compareTo line',
      'Inner PARAM <init>',
      'Level PARAM <init>',
    ])
  })

  test('in synthetic members are listed only with synthetic', async () => {
    const own = await xref()
    const all = await xref({ synthetic: true })
    expect(all.filter((each) => !own.includes(each)).toSorted()).toEqual(['Local FIELD val$captured'])
  })

  test.each(sample(['demo', 'kinds', 'shop', 'typeuse'], 2))(
    'match their counts for every type of project %s',
    { tags: ['long'] },
    async (fixture) => {
      const project = await startAnalyzer(projectOf(fixture))
      try {
        const { classes } = await project.get('/classes', { size: 500 })
        const outside = ['String', 'Object', 'Runnable', 'Integer', 'Deprecated', 'Record', 'Enum']
        for (const fqn of [
          ...classes.map(({ fqn: each }: any) => each),
          ...outside.map((each) => `java.lang.${each}`),
        ]) {
          const { status, body: answer } = await project.ask(`/xref/${fqn}`, { size: 5000, synthetic: true })
          // Nothing names it.
          if (status === 404) continue
          expect(status, fqn).toBe(200)
          const counts: Record<string, number> = {}
          for (const { kind } of answer.references) counts[kind] = (counts[kind] ?? 0) + 1
          expect(counts, fqn).toEqual(answer.countsByKind)
        }
      } finally {
        await project.stop()
      }
    },
  )
})
