import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { lineFinder } from '../../../support/analyzer/fixture-line.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const line = lineFinder('shop/shop/service/Calls.java')
const SELF = 'shop.service.Calls'

describe('references', () => {
  const xref = (fqn: string, parameters = {}) => analyzer.get(`/xref/${fqn}`, { size: 200, ...parameters })
  const short = ({ references }: any): readonly string[] =>
    references.map(({ fromSimpleName, kind, member }: any) =>
      `${fromSimpleName} ${kind} ${member ?? ''}`.trim(),
    )

  test('to a type are listed by class and kind, with counts', async () => {
    const answer = await analyzer.get('/xref/shop.model.Item')
    expect(answer).toEqual({
      typeFqn: 'shop.model.Item',
      references: expect.any(Array),
      totalCount: 19,
      page: 0,
      pageSize: 50,
      totalPages: 1,
      countsByKind: {
        FIELD: 2,
        PARAM: 5,
        RETURN: 4,
        CALL_RECEIVER: 1,
        CAST: 3,
        INSTANCEOF: 1,
        ARRAY_CREATION: 1,
        CLASS_LITERAL: 1,
        METHOD_REFERENCE: 1,
      },
      countsByPackage: { 'shop.model': 9, 'shop.service': 10 },
      appliedFilter: {
        includeLibraries: false,
        kind: null,
        scopeImplementing: null,
        declared: false,
        synthetic: false,
      },
    })
    expect(short(answer)).toEqual([
      'Order FIELD items',
      'Order PARAM <init>',
      'Order PARAM add',
      'Order RETURN add',
      'Order RETURN grid',
      'Order RETURN all',
      'Order ARRAY_CREATION grid',
      'Line FIELD of',
      'Line PARAM <init>',
      'Calls PARAM overloaded',
      'Calls PARAM lambdas',
      'Calls RETURN first',
      'Calls CALL_RECEIVER overloaded',
      'Calls CAST first',
      'Calls CAST first',
      'Calls CAST lambdas',
      'Calls INSTANCEOF first',
      'Calls CLASS_LITERAL constants',
      'Calls METHOD_REFERENCE lambdas',
    ])
    expect(answer.references.find(({ kind }: any) => kind === 'CALL_RECEIVER')).toEqual({
      fromFqn: SELF,
      fromSimpleName: 'Calls',
      fromSource: 'PROJECT',
      kind: 'CALL_RECEIVER',
      member: 'overloaded',
      descriptor: '(Lshop/model/Item;)I',
      detail: 'price',
      calledDescriptor: '()I',
      lineNumber: line('by record'),
    })
    expect(answer.references[0]).toMatchObject({ detail: 'java.util.List', lineNumber: null })
    expect(answer.references.slice(1, 4)).toEqual(
      [
        { member: '<init>', kind: 'PARAM', detail: 'shop.model.Item', parameterIndex: 1 },
        { member: 'add', kind: 'PARAM', detail: 'shop.model.Item', parameterIndex: 0 },
        { member: 'add', kind: 'RETURN', detail: 'shop.model.Item' },
      ].map((each) => expect.objectContaining(each)),
    )
  })

  test.each([
    ['shop.model.Entity', 'EXTENDS', ['Order EXTENDS']],
    [
      'shop.model.Priced',
      'IMPLEMENTS',
      ['Discounted IMPLEMENTS', 'Order$Builder$1 IMPLEMENTS', 'Local IMPLEMENTS'],
    ],
    ['shop.model.Size', 'FIELD', ['Order FIELD sizes', 'Builder FIELD size']],
    [
      'shop.route.Route',
      'ANNOTATION',
      [
        'Get ANNOTATION',
        'Calls ANNOTATION lambdas',
        'Pages ANNOTATION plain',
        'Pages ANNOTATION page',
        'Pages ANNOTATION',
        'package-info ANNOTATION',
      ],
    ],
    ['shop.model.Order', 'INSTANTIATION', ['Calls INSTANTIATION lambdas', 'Pages INSTANTIATION get']],
    ['shop.model.Order', 'call_receiver', ['Calls CALL_RECEIVER first']],
  ])('to %s of kind %s are %j; the counts by kind are of all', async (fqn, kind, expected) => {
    const filtered = await xref(fqn, { kind })
    expect(short(filtered)).toEqual(expected)
    expect(filtered.totalCount).toBe(expected.length)
    expect(filtered.countsByKind).toEqual((await xref(fqn)).countsByKind)
    const sum = Object.values(filtered.countsByPackage as Record<string, number>).reduce((a, b) => a + b)
    expect(sum).toBe(expected.length)
    expect(filtered.appliedFilter.kind).toBe(kind.toUpperCase())
  })

  test('to a receiver count for the declaring class with declared', async () => {
    const calls = async (fqn: string, declared: boolean) =>
      (await xref(fqn, { kind: 'CALL_RECEIVER', declared })).references.map(
        ({ fromSimpleName, member, detail }: any) => `${fromSimpleName} ${member} ${detail}`,
      )
    expect(await calls('java.util.List', false)).toContain('Calls lambdas forEach')
    expect(await calls('java.util.List', true)).not.toContain('Calls lambdas forEach')
    expect(await calls('java.lang.Iterable', true)).toEqual(['Calls lambdas forEach'])
    expect(await calls('java.lang.Iterable', false)).toEqual([])
    // What the class that is named declares itself stays.
    for (const fqn of ['shop.model.Item', 'shop.model.Order', 'shop.model.Priced'])
      expect(await calls(fqn, true), fqn).toEqual(await calls(fqn, false))
  })

  test('are paged within the uses of one class', async () => {
    const all = short(await xref('shop.model.Item'))
    const pages = await Promise.all([0, 1, 2, 3, 4].map((page) => xref('shop.model.Item', { page, size: 4 })))
    expect(pages.flatMap(short)).toEqual(all)
    expect(pages.map(({ totalPages, pageSize }) => [totalPages, pageSize])).toEqual(pages.map(() => [5, 4]))
  })

  test('only from subtypes of a type', async () => {
    const scoped = await xref('shop.model.Item', { scopeImplementing: 'shop.model.Entity' })
    expect(new Set(scoped.references.map(({ fromFqn }: any) => fromFqn))).toEqual(
      new Set(['shop.model.Order']),
    )
    expect(scoped.countsByPackage).toEqual({ 'shop.model': 7 })
    expect((await xref('shop.model.Item', { scopeImplementing: 'no.Such' })).totalCount).toBe(0)
  })

  test('in libraries are listed for signatures on request, and never for code', async () => {
    const own = await xref('java.lang.String', { size: 1 })
    const all = await xref('java.lang.String', { size: 1, includeLibraries: true })
    for (const kind of ['FIELD', 'PARAM', 'RETURN'])
      expect(all.countsByKind[kind]).toBeGreaterThan(own.countsByKind[kind])
    for (const kind of ['INSTANTIATION', 'CALL_RECEIVER'])
      expect(all.countsByKind[kind]).toEqual(own.countsByKind[kind])
    const { countsByPackage } = await xref('java.lang.StringBuilder', {
      kind: 'INSTANTIATION',
      includeLibraries: true,
    })
    expect(countsByPackage).toEqual({})
  })
})

test('without debug information there are no line numbers', { tags: ['long'] }, async () => {
  const bare = await startAnalyzer(projectOf('shop', ['-g:none']))
  try {
    const { methods } = await bare.get(`/calls/${SELF}`)
    const lines = methods.flatMap(({ calls: sites }: any) => sites.map(({ lineNumber }: any) => lineNumber))
    expect(new Set(lines)).toEqual(new Set([null]))
    const { references } = await bare.get('/xref/shop.model.Order', { kind: 'INSTANTIATION' })
    expect(references.map(({ lineNumber }: any) => lineNumber)).toEqual([null, null])
  } finally {
    await bare.stop()
  }
})
