import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { summary } from '../../../support/analyzer/class-summary.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const fqns = (rows: readonly { readonly fqn: string }[]): readonly string[] => rows.map(({ fqn }) => fqn)
const list = async (parameters = {}): Promise<readonly string[]> =>
  fqns((await analyzer.get('/classes', parameters)).classes)

const MODEL = [
  'shop.model.Discounted',
  'shop.model.Entity',
  'shop.model.Item',
  'shop.model.Order',
  'shop.model.Order$Builder',
  'shop.model.Order$Builder$1',
  'shop.model.Order$Builder$1Local',
  'shop.model.Order$Line',
  'shop.model.Payment',
  'shop.model.Payment$Card',
  'shop.model.Payment$Cash',
  'shop.model.Priced',
  'shop.model.Size',
  'shop.model.Size$1',
]

describe('the class list', () => {
  test('has every project class once, sorted by name, with its page and the applied filter', async () => {
    const answer = await analyzer.get('/classes')
    expect(answer).toEqual({
      classes: expect.any(Array),
      totalCount: 28,
      page: 0,
      pageSize: 50,
      totalPages: 1,
      appliedFilter: {
        packagePattern: null,
        namePattern: null,
        source: 'PROJECT',
        hasAnnotation: null,
        extendsClass: null,
        implementsInterface: null,
      },
    })
    expect(fqns(answer.classes)).toHaveLength(28)
    expect(fqns(answer.classes)).toEqual(fqns(answer.classes).toSorted())
  })

  test('reports the type of each class', async () => {
    const { classes } = await analyzer.get('/classes', { package: 'shop.model' })
    const anInterface = { type: 'INTERFACE', isInterface: true, isAbstract: true }
    expect(classes).toEqual([
      summary('shop.model.Discounted', 'Discounted', { ...anInterface, methodCount: 0, fieldCount: 0 }),
      summary('shop.model.Entity', 'Entity', { isAbstract: true, methodCount: 2, fieldCount: 1 }),
      summary('shop.model.Item', 'Item', { type: 'RECORD', isRecord: true, methodCount: 5, fieldCount: 3 }),
      // Of its methods, neither the constructors nor the bridge.
      summary('shop.model.Order', 'Order', { methodCount: 5, fieldCount: 4 }),
      summary('shop.model.Order$Builder', 'Builder', { methodCount: 2, fieldCount: 1 }),
      summary('shop.model.Order$Builder$1', 'Order$Builder$1'),
      summary('shop.model.Order$Builder$1Local', 'Local'),
      summary('shop.model.Order$Line', 'Line', { methodCount: 0 }),
      summary('shop.model.Payment', 'Payment', { ...anInterface, isSealed: true }),
      summary('shop.model.Payment$Card', 'Card'),
      summary('shop.model.Payment$Cash', 'Cash'),
      summary('shop.model.Priced', 'Priced', { ...anInterface, methodCount: 2 }),
      summary('shop.model.Size', 'Size', {
        type: 'ENUM',
        isEnum: true,
        isSealed: true,
        methodCount: 3,
        fieldCount: 3,
      }),
      // The body of a constant is a class, not an enum, as in the language.
      summary('shop.model.Size$1', 'Size$1', { methodCount: 1 }),
    ])
    expect(fqns(classes)).toEqual(MODEL)
  })

  test.each([
    [{ package: 'shop.*', name: 'Or*' }, ['shop.model.Order', 'shop.model.Order$Builder$1']],
    [{ package: '*.model', name: '*e' }, ['shop.model.Order$Line', 'shop.model.Size']],
    [{ package: 'shop.web' }, ['shop.web.Pages', 'shop.web.package-info']],
    [{ package: 'shop' }, []],
    [{ name: 'shop.model.Item' }, ['shop.model.Item']],
    [{ name: 'item' }, []],
    [{ annotation: 'shop.route.Page' }, []],
    [{ annotation: 'shop.route.Route', package: 'shop.web' }, ['shop.web.Pages', 'shop.web.package-info']],
    [{ annotation: 'shop.route.Route', package: 'shop.route' }, ['shop.route.Get', 'shop.route.Page']],
    // Repeated, so that the compiler puts them into a container.
    [{ annotation: 'shop.route.Checked' }, ['shop.model.Order']],
    [{ annotation: 'shop.route.Checked.All' }, ['shop.model.Order']],
    [{ extends: 'shop.model.Entity' }, ['shop.model.Order']],
    [{ extends: 'java.lang.Enum' }, ['shop.model.Size', 'shop.model.Size$1', 'shop.route.Route$Verb']],
    [{ extends: 'shop.model.Priced' }, []],
    [
      { implements: 'shop.model.Priced' },
      [
        'shop.model.Discounted',
        'shop.model.Item',
        'shop.model.Order$Builder$1',
        'shop.model.Order$Builder$1Local',
      ],
    ],
    [{ implements: 'shop.model.Entity' }, []],
    [{ implements: 'java.lang.Comparable', extends: 'shop.model.Entity' }, ['shop.model.Order']],
    [{ implements: 'no.Such' }, []],
    [
      { interfaces: true, package: 'shop.model' },
      ['shop.model.Discounted', 'shop.model.Payment', 'shop.model.Priced'],
    ],
    [{ interfaces: true, package: 'shop.web' }, []],
    [{ interfaces: false, package: 'shop.web' }, ['shop.web.Pages', 'shop.web.package-info']],
  ])('filtered by %j is %j', async (parameters, expected) => {
    expect(await list(parameters)).toEqual(expected)
  })

  test('includes the applied filter', async () => {
    const filter = {
      package: 'a',
      name: 'b',
      annotation: 'c',
      extends: 'd',
      implements: 'e',
      includeLibraries: true,
    }
    expect((await analyzer.get('/classes', filter)).appliedFilter).toEqual({
      packagePattern: 'a',
      namePattern: 'b',
      source: null,
      hasAnnotation: 'c',
      extendsClass: 'd',
      implementsInterface: 'e',
    })
  })

  test('has libraries and the JDK only on request', async () => {
    expect(await list({ package: 'java.util.function', name: 'Supplier' })).toEqual([])
    const { classes } = await analyzer.get('/classes', {
      package: 'java.util.function',
      name: 'Supplier',
      includeLibraries: true,
    })
    expect(classes).toEqual([
      expect.objectContaining({
        fqn: 'java.util.function.Supplier',
        source: 'JDK',
        type: 'INTERFACE',
        methodCount: 1,
      }),
    ])
  })

  test('is paged from 0', async () => {
    const page = async (number: number, size: number) => {
      const { classes, ...rest } = await analyzer.get('/classes', {
        package: 'shop.model',
        page: number,
        size,
      })
      expect(rest).toMatchObject({ totalCount: 14, page: number, pageSize: size, totalPages: 3 })
      return fqns(classes)
    }
    expect(await page(0, 5)).toEqual(MODEL.slice(0, 5))
    expect(await page(1, 5)).toEqual(MODEL.slice(5, 10))
    expect(await page(2, 5)).toEqual(MODEL.slice(10))
    expect(await page(3, 5)).toEqual([])
    expect((await analyzer.get('/classes', { package: 'nowhere' })).totalPages).toBe(0)
    expect((await analyzer.ask('/classes', { size: 10_000 })).status).toBe(200)
  })
})

test('stats count the project and its dependencies', async () => {
  const stats = await analyzer.get('/stats')
  expect(stats).toEqual({
    projectClassCount: 28,
    libraryClassCount: 0,
    jdkClassCount: expect.any(Number),
    projectInterfaceCount: 3,
    projectAbstractClassCount: 1,
    projectEnumCount: 2,
    projectAnnotationCount: 9,
    projectRecordCount: 1,
    projectMethodCount: 53,
    projectFieldCount: 25,
    classpathResolvedBy: 'jar',
    classpathEntryCount: 2,
    diagnosticCount: 0,
    scanDurationMs: expect.any(Number),
    scannedAt: expect.stringMatching(/Z$/),
  })
  expect(stats.jdkClassCount).toBeGreaterThan(6_000)
})
