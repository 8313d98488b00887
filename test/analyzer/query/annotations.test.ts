import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const usages = (fqn: string, parameters = {}) => analyzer.get(`/annotations/usages/${fqn}`, parameters)

/** Formats the location of a usage as one line. */
const place = ({ target, classFqn, method, descriptor, field, parameterIndex }: any): string =>
  [target, classFqn, method === undefined ? (field ?? '') : method + descriptor, parameterIndex ?? '']
    .join(' ')
    .trim()

/** A value as one would write it. */
const plain = (value: any): unknown => {
  if (value.kind === 'ARRAY') return value.items.map(plain)
  return value.kind === 'ANNOTATION' ? { [value.annotation.type]: plainAll(value.annotation) } : value.value
}
const plainAll = ({ parameters }: any): Record<string, unknown> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, plain(value)]))

const ROUTES = [
  'CLASS shop.route.Get',
  'CLASS shop.route.Page',
  'METHOD shop.service.Calls overloaded(Lshop/model/Item;)I',
  'METHOD shop.service.Calls lambdas(Ljava/util/List;)Ljava/util/function/Supplier;',
  'FIELD shop.web.Pages bare',
  'METHOD shop.web.Pages plain()V',
  'METHOD shop.web.Pages get()Lshop/model/Order;',
  'METHOD shop.web.Pages page(I)Ljava/lang/String;',
  'PARAMETER shop.web.Pages page(I)Ljava/lang/String; 0',
  'CONSTRUCTOR shop.web.Pages <init>()V',
  'CLASS shop.web.Pages',
  'CLASS shop.web.package-info',
]

test('usages include those as a meta-annotation, sorted by class, with counts over all pages', async () => {
  const { usages: rows, ...rest } = await usages('shop.route.Route')
  expect(rest).toEqual({
    annotationFqn: 'shop.route.Route',
    totalCount: 12,
    page: 0,
    pageSize: 50,
    totalPages: 1,
    countsByTarget: { CLASS: 4, METHOD: 5, FIELD: 1, PARAMETER: 1, CONSTRUCTOR: 1 },
  })
  expect(rows.map(place)).toEqual(ROUTES)
  const second = await usages('shop.route.Route', { page: 1, size: 5 })
  expect(second.usages.map(place)).toEqual(ROUTES.slice(5, 10))
  expect(second).toMatchObject({
    totalCount: 12,
    page: 1,
    pageSize: 5,
    totalPages: 3,
    countsByTarget: rest.countsByTarget,
  })
})

test('each usage names its composed annotation, and direct omits those', async () => {
  const { usages: rows } = await usages('shop.route.Route')
  const direct = await usages('shop.route.Route', { direct: true })
  expect(direct.usages).toEqual(rows.filter(({ through }: any) => through === null))
  expect(direct.totalCount).toBe(direct.usages.length)
  const byMark = new Map(rows.map((row: any) => [place(row), row.through]))
  expect(byMark.get('FIELD shop.web.Pages bare')).toBe('shop.route.Page')
  expect(byMark.get('METHOD shop.web.Pages get()Lshop/model/Order;')).toBe('shop.route.Get')
  expect(byMark.get('METHOD shop.web.Pages plain()V')).toBe(null)
})

test.each([
  ['class', (line: string) => line.startsWith('CLASS')],
  // A constructor is a method, named <init>.
  ['method', (line: string) => /^(?:METHOD|CONSTRUCTOR)/.test(line)],
  ['field', (line: string) => line.startsWith('FIELD')],
  ['param', (line: string) => line.startsWith('PARAMETER')],
  ['all', () => true],
])('the scope %s', async (scope, isIn) => {
  const answer = await usages('shop.route.Route', { scope })
  expect(answer.usages.map(place)).toEqual(ROUTES.filter(isIn))
  const sum = Object.values(answer.countsByTarget as Record<string, number>).reduce((a, b) => a + b)
  expect(sum).toBe(answer.totalCount)
})

test('each usage names its target', async () => {
  const { usages: rows } = await usages('shop.route.Route')
  const inPages = {
    classFqn: 'shop.web.Pages',
    classSimpleName: 'Pages',
    packageName: 'shop.web',
    classSource: 'PROJECT',
  }
  const annotation = { type: 'shop.route.Route', parameters: expect.any(Object) }
  expect(rows.slice(4, 11)).toEqual([
    { target: 'FIELD', ...inPages, field: 'bare', annotation, through: 'shop.route.Page' },
    { target: 'METHOD', ...inPages, method: 'plain', descriptor: '()V', annotation, through: null },
    {
      target: 'METHOD',
      ...inPages,
      method: 'get',
      descriptor: '()Lshop/model/Order;',
      annotation,
      through: 'shop.route.Get',
    },
    {
      target: 'METHOD',
      ...inPages,
      method: 'page',
      descriptor: '(I)Ljava/lang/String;',
      annotation,
      through: 'shop.route.Page',
    },
    {
      target: 'PARAMETER',
      ...inPages,
      method: 'page',
      descriptor: '(I)Ljava/lang/String;',
      parameterIndex: 0,
      parameterName: 'arg0',
      annotation,
      through: null,
    },
    {
      target: 'CONSTRUCTOR',
      ...inPages,
      method: '<init>',
      descriptor: '()V',
      annotation,
      through: 'shop.route.Get',
    },
    { target: 'CLASS', ...inPages, annotation, through: null },
  ])
})

describe('attributes are synthesized according to @AliasFor', () => {
  const seen = async (fqn: string, line: string) => {
    const { usages: rows } = await usages(fqn)
    return plainAll(rows.find((row: unknown) => place(row) === line).annotation)
  }
  const as = (path: string, rest: object) => ({
    value: [path],
    path: [path],
    verb: 'ANY',
    name: 'unnamed',
    order: '7',
    ...rest,
  })

  test.each([
    ['mirrors of one annotation, from value', 'METHOD shop.web.Pages plain()V', as('/plain', {})],
    ['mirrors of one annotation, from path', 'CLASS shop.web.Pages', as('/shop', { name: 'shop' })],
    [
      'an override of an array by one value, one by equal names, and what is fixed on the way',
      'METHOD shop.web.Pages get()Lshop/model/Order;',
      as('/get', { verb: 'GET', name: 'get', order: '1' }),
    ],
    [
      'two levels, implicit mirrors, and an alias that skips a level',
      'METHOD shop.web.Pages page(I)Ljava/lang/String;',
      as('/page', { verb: 'GET', name: 'page', order: '3' }),
    ],
    [
      'defaults of the composed one, which are stronger than those of the one that it carries',
      'FIELD shop.web.Pages bare',
      as('', { verb: 'GET', name: 'page', order: '3' }),
    ],
    [
      'an equal name on a constructor',
      'CONSTRUCTOR shop.web.Pages <init>()V',
      as('', { verb: 'GET', name: 'constructor', order: '1' }),
    ],
    [
      'one on a composed annotation itself',
      'CLASS shop.route.Get',
      { value: [], path: [], verb: 'GET', name: 'unnamed', order: '1' },
    ],
  ])('%s', async (_what, line, expected) => {
    expect(await seen('shop.route.Route', line)).toEqual(expected)
  })

  test('for the annotation in between, too', async () => {
    expect(await seen('shop.route.Get', 'METHOD shop.web.Pages page(I)Ljava/lang/String;')).toEqual({
      at: '/page',
      name: 'page',
    })
  })

  test('implicit mirrors apply to the composed annotation itself', async () => {
    expect(await seen('shop.route.Page', 'METHOD shop.web.Pages page(I)Ljava/lang/String;')).toEqual({
      where: '/page',
      html: '/page',
      place: '3',
    })
  })
})

test('A5 annotations on each other, or on themselves, terminate', async () => {
  const { usages: rows } = await usages('shop.route.Loop')
  expect(rows.map(place)).toEqual([
    'CLASS shop.route.Loop',
    'CLASS shop.route.Loop',
    'CLASS shop.route.Loop$Back',
  ])
  expect(rows.map(({ annotation }: any) => plainAll(annotation))).toContainEqual({ value: 'back' })
})

test('repeated annotations are listed individually, and those on parameters and record components with their position', async () => {
  const { usages: rows } = await usages('shop.route.Checked')
  expect(rows.map((row: any) => [place(row), plainAll(row.annotation)['value']])).toEqual([
    ['FIELD shop.model.Item price', 'price'],
    ['PARAMETER shop.model.Item <init>(Ljava/lang/String;I)V 1', 'price'],
    ['METHOD shop.model.Item price()I', 'price'],
    ['CONSTRUCTOR shop.model.Order <init>(JLshop/model/Item;)V', 'made'],
    ['PARAMETER shop.model.Order <init>(JLshop/model/Item;)V 1', 'item'],
    ['CLASS shop.model.Order', 'first'],
    ['CLASS shop.model.Order', 'second'],
    ['PARAMETER shop.model.Order$Builder$1Local <init>(Lshop/model/Order$Builder;II)V 1', 'local'],
    ['FIELD shop.model.Order$Line of', 'field'],
    ['PARAMETER shop.model.Order$Line <init>(Lshop/model/Order;Lshop/model/Item;)V 1', 'inner'],
  ])
})

test('annotations that the compiler drops are not found', async () => {
  expect(await usages('shop.route.Checked.Draft')).toMatchObject({
    usages: [],
    totalCount: 0,
    countsByTarget: {},
  })
})

test('usages in the JDK are included with libraries', async () => {
  expect((await usages('java.lang.FunctionalInterface')).totalCount).toBe(0)
  const { usages: rows, totalCount } = await usages('java.lang.FunctionalInterface', {
    includeLibraries: true,
  })
  expect(totalCount).toBeGreaterThan(40)
  expect(rows[0]).toMatchObject({ target: 'CLASS', classSource: 'JDK' })
})

test('values of every kind keep their type', { tags: ['long'] }, async () => {
  const demo = await startAnalyzer(projectOf('demo'))
  try {
    const { usages: rows } = await demo.get('/annotations/usages/demo.Marked.Everything', { scope: 'class' })
    expect(rows[0].annotation.parameters).toEqual({
      flag: { kind: 'BOOLEAN', value: 'true' },
      tiny: { kind: 'BYTE', value: '-1' },
      letter: { kind: 'CHAR', value: 'q' },
      small: { kind: 'SHORT', value: '300' },
      whole: { kind: 'INT', value: '70000' },
      large: { kind: 'LONG', value: '1099511627776' },
      single: { kind: 'FLOAT', value: '0.5' },
      precise: { kind: 'DOUBLE', value: '1e+100' },
      text: { kind: 'STRING', value: 'é' },
      type: { kind: 'CLASS', value: 'java.lang.String' },
      kind: { kind: 'ENUM', value: 'CLASS', enumType: 'java.lang.annotation.RetentionPolicy' },
      nested: {
        kind: 'ANNOTATION',
        annotation: { type: 'demo.Marked$Hidden', parameters: { value: { kind: 'STRING', value: 'inner' } } },
      },
      list: {
        kind: 'ARRAY',
        items: [
          { kind: 'STRING', value: 'a' },
          { kind: 'STRING', value: 'b' },
        ],
      },
      nestedList: {
        kind: 'ARRAY',
        items: [
          expect.objectContaining({ kind: 'ANNOTATION' }),
          expect.objectContaining({ kind: 'ANNOTATION' }),
        ],
      },
      standard: {
        kind: 'ARRAY',
        items: [
          { kind: 'INT', value: '1' },
          { kind: 'INT', value: '2' },
        ],
      },
    })
  } finally {
    await demo.stop()
  }
})
