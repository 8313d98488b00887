import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

describe('methods', () => {
  const search = async (parameters: object): Promise<readonly string[]> => {
    const { methods } = await analyzer.get('/methods', { size: 200, ...parameters })
    return methods.map(({ classFqn, method }: any) => `${classFqn}.${method.name}${method.descriptor}`)
  }

  test('are listed with their class, without synthetic methods', async () => {
    const answer = await analyzer.get('/methods', { inClass: 'Order', name: 'c*' })
    expect(answer).toEqual({
      methods: [
        {
          classFqn: 'shop.model.Order',
          classSimpleName: 'Order',
          classSource: 'PROJECT',
          method: expect.objectContaining({
            name: 'copy',
            returnType: 'shop.model.Order',
            isSynthetic: false,
          }),
        },
      ],
      totalCount: 1,
      page: 0,
      pageSize: 50,
      totalPages: 1,
    })
    expect(await analyzer.get('/methods', { size: 20, page: 2 })).toMatchObject({
      totalCount: 53,
      totalPages: 3,
    })
    expect((await analyzer.get('/methods', { size: 20, page: 2 })).methods).toHaveLength(13)
  })

  test.each([
    [
      { returnType: 'shop.model.Item' },
      ['shop.model.Order.add(Lshop/model/Item;[Lshop/model/Size;)Lshop/model/Item;'],
    ],
    // Erased: it is no List<Item> that is asked for.
    [{ returnType: 'java.util.List' }, ['shop.model.Order.all()Ljava/util/List;']],
    [{ returnType: 'Item[][]' }, ['shop.model.Order.grid(I)[[Lshop/model/Item;']],
    [{ annotation: 'shop.route.Page' }, ['shop.web.Pages.page(I)Ljava/lang/String;']],
    [
      { annotation: 'shop.route.Route', inPackage: 'shop.web' },
      [
        'shop.web.Pages.plain()V',
        'shop.web.Pages.get()Lshop/model/Order;',
        'shop.web.Pages.page(I)Ljava/lang/String;',
      ],
    ],
    [{ inClass: 'shop.model.Priced' }, ['shop.model.Priced.price()I', 'shop.model.Priced.isFree()Z']],
    [{ name: '*rice', inPackage: 'shop.model', inClass: 'Item' }, ['shop.model.Item.price()I']],
    [{ name: '<init>' }, []],
    [{ name: 'requireNonNullElse' }, []],
  ])('by %j are %j', async (parameters, expected) => {
    expect(await search(parameters)).toEqual(expected)
  })

  test('of the JDK are found on request', async () => {
    expect(await search({ name: 'requireNonNullElse', includeLibraries: true })).toEqual([
      'java.util.Objects.requireNonNullElse(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;',
    ])
  })
})

describe('an invalid query', () => {
  test.each([
    ['/classes', { page: '-1' }, '"page" must be a whole number of at least 0, not "-1"'],
    ['/classes', { size: 0 }, '"size" must be a whole number from 1 to 10000, not "0"'],
    ['/classes', { size: -1 }, '"size" must be a whole number from 1 to 10000, not "-1"'],
    ['/classes', { size: '1e3' }, '"size" must be a whole number from 1 to 10000, not "1e3"'],
    ['/path', { from: 'a.A', to: 'b.B', limit: -1 }, '"limit" must be a whole number from 1 to 100'],
    ['/classes', { interfaces: 'yes' }, '"interfaces" must be true or false, not "yes"'],
    ['/classes', { color: 'red' }, '"color" is unknown; known parameters: package, name'],
    [
      '/calls/shop.service.Calls',
      { descriptor: '()V' },
      'descriptor selects an overload and requires method',
    ],
    ['/xref/shop.model.Item', { kind: 'GUESS' }, '"kind" must be one of EXTENDS, IMPLEMENTS'],
    ['/annotations/usages/shop.route.Route', { scope: 'package' }, '"scope" must be one of class, method'],
    ['/graph', { format: 'png' }, '"format" must be one of json, dot'],
    [
      '/graph/foundation',
      { minDependents: 0 },
      '"minDependents" must be a whole number of at least 1, not "0"',
    ],
  ])('%s %j is 400', async (path, parameters, said) => {
    const { status, body } = await analyzer.ask(path, parameters)
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: true, code: 400, type: 'BadRequest', message: expect.stringContaining(said) },
    })
  })

  test.each([
    'classes',
    'implementations',
    'hierarchy',
    'dependencies',
    'calls',
    'xref',
    'annotations/usages',
  ])('for a missing class, at /%s, is 404', async (route) => {
    const { status, body } = await analyzer.ask(`/${route}/no.such.Class`)
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: true, code: 404, type: 'NotFound', message: expect.stringContaining('"no.such.Class"') },
    })
  })

  test('at an unknown route is 404 with the same body', async () => {
    const { status, body } = await analyzer.ask('/nothing')
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: true, code: 404, type: 'NotFound', message: expect.any(String) },
    })
  })

  test('A6 a name of 300 characters is searched like any other', async () => {
    const name = `a.${'b'.repeat(298)}`
    const { status, body } = await analyzer.ask(`/classes/${name}`)
    expect({ status, type: body.type }).toEqual({ status: 404, type: 'NotFound' })
    expect(await analyzer.get('/classes', { name })).toMatchObject({ classes: [] })
  })
})

test.each([
  ['/classes', { size: 10_001 }],
  ['/classes', { size: '9'.repeat(20) }],
  ['/path', { from: 'shop.service.Calls', to: 'shop.model.Item', limit: 101, maxDepth: 1_000 }],
  ['/source/shop.model.Order/method/add', { context: 10_001 }],
])(
  'a larger number than the maximum in %s %j counts as the maximum',
  { tags: ['long'] },
  async (path, parameters) => {
    const { status, body } = await analyzer.ask(path, parameters)
    expect(status, JSON.stringify(body)).toBe(200)
    if (path === '/classes') expect(body.pageSize).toBe(10_000)
  },
)
