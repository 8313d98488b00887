import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer-server.ts'

let analyzer: TestAnalyzer
const root = projectOf('shop')
beforeAll(async () => {
  analyzer = await startAnalyzer(root)
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

/** A summary of a plain class, with what is said differently. */
const summary = (fqn: string, simpleName: string, rest: object = {}) => ({
  fqn,
  simpleName,
  packageName: 'shop.model',
  source: 'PROJECT',
  type: 'CLASS',
  isInterface: false,
  isAbstract: false,
  isEnum: false,
  isAnnotation: false,
  isRecord: false,
  isSealed: false,
  methodCount: expect.any(Number),
  fieldCount: expect.any(Number),
  ...rest,
})

describe('the class list', () => {
  test('has every project class once, by name, with its page and the filter that was applied', async () => {
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

  test('tells what each class is', async () => {
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
      // The body of a constant is no enum, as for the language.
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

  test('names the filter that was applied', async () => {
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

  test('has libraries and the JDK only when they are asked for', async () => {
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

describe('one class', () => {
  const show = async (fqn: string) => (await analyzer.get(`/classes/${encodeURIComponent(fqn)}`)).classInfo
  const checked = (value: string) => [
    { type: 'shop.route.Checked', parameters: { value: { kind: 'STRING', value } } },
  ]
  const method = (name: string, descriptor: string, returnType: string, rest: object = {}) => ({
    name,
    descriptor,
    visibility: 'PUBLIC',
    returnType,
    parameters: [],
    annotations: [],
    exceptions: [],
    isStatic: false,
    isAbstract: false,
    isFinal: false,
    isSynthetic: false,
    ...rest,
  })
  const field = (name: string, visibility: string, type: string, rest: object = {}) => ({
    name,
    visibility,
    type,
    annotations: [],
    isStatic: false,
    isFinal: false,
    ...rest,
  })

  test('has all of its members, with flags, types, parameters, annotations and exceptions', async () => {
    const info = await show('shop.model.Order')
    expect(info).toEqual({
      name: { fqn: 'shop.model.Order', simpleName: 'Order', packageName: 'shop.model' },
      source: 'PROJECT',
      location: `${root}/target/classes`,
      visibility: 'PUBLIC',
      type: 'CLASS',
      isInterface: false,
      isAbstract: false,
      isFinal: false,
      isEnum: false,
      isAnnotation: false,
      isRecord: false,
      isSealed: false,
      isSynthetic: false,
      superclass: 'shop.model.Entity',
      interfaces: [],
      annotations: [expect.objectContaining({ type: 'shop.route.Checked$All' })],
      constructors: [
        method('<init>', '(J)V', 'void', { parameters: [{ name: 'arg0', type: 'long', annotations: [] }] }),
        method('<init>', '(JLshop/model/Item;)V', 'void', {
          visibility: 'PACKAGE_PRIVATE',
          parameters: [
            { name: 'arg0', type: 'long', annotations: [] },
            { name: 'arg1', type: 'shop.model.Item', annotations: checked('item') },
          ],
          annotations: checked('made'),
          exceptions: ['java.io.IOException'],
        }),
      ],
      methods: [
        method('copy', '()Lshop/model/Order;', 'shop.model.Order', { visibility: 'PROTECTED' }),
        method('add', '(Lshop/model/Item;[Lshop/model/Size;)Lshop/model/Item;', 'shop.model.Item', {
          isFinal: true,
          parameters: [
            { name: 'arg0', type: 'shop.model.Item', annotations: [] },
            { name: 'arg1', type: 'shop.model.Size[]', annotations: [] },
          ],
          exceptions: ['java.io.IOException', 'java.lang.IllegalStateException'],
        }),
        method('grid', '(I)[[Lshop/model/Item;', 'shop.model.Item[][]', {
          visibility: 'PACKAGE_PRIVATE',
          isStatic: true,
          parameters: [{ name: 'arg0', type: 'int', annotations: [] }],
        }),
        method('all', '()Ljava/util/List;', 'java.util.List'),
        method('touch', '()V', 'void', { visibility: 'PACKAGE_PRIVATE' }),
        method('copy', '()Lshop/model/Entity;', 'shop.model.Entity', {
          visibility: 'PROTECTED',
          isSynthetic: true,
        }),
      ],
      fields: [
        field('items', 'PRIVATE', 'java.util.List', { isFinal: true }),
        field('sizes', 'PROTECTED', 'java.util.Map'),
        field('last', 'PACKAGE_PRIVATE', 'shop.model.Payment', { isStatic: true }),
        field('count', 'PUBLIC', 'int'),
      ],
    })
  })

  test('has the names of its parameters where the class file has them', async () => {
    const named = await startAnalyzer(projectOf('shop', ['-parameters']))
    try {
      const { classInfo } = await named.get('/classes/shop.model.Order')
      expect(classInfo.methods[1].parameters.map(({ name }: { name: string }) => name)).toEqual([
        'item',
        'sizes',
      ])
    } finally {
      await named.stop()
    }
  })

  test('has a record’s components, a sealed type’s subclasses, and no superclass for an interface', async () => {
    expect((await show('shop.model.Item')).recordComponents).toEqual([
      { name: 'name', type: 'java.lang.String' },
      { name: 'price', type: 'int' },
    ])
    const payment = await show('shop.model.Payment')
    expect(payment.permittedSubclasses).toEqual(['shop.model.Payment$Cash', 'shop.model.Payment$Card'])
    expect(payment).not.toHaveProperty('superclass')
    expect((await show('shop.model.Order$Builder$1')).interfaces).toEqual(['shop.model.Priced'])
  })

  test('has a nested class by its name in the source too, and its own visibility', async () => {
    for (const name of ['shop.model.Order.Builder', 'shop.model.Order$Builder'])
      expect((await show(name)).name).toMatchObject({ fqn: 'shop.model.Order$Builder' })
    expect(await show('shop.model.Payment.Card')).toMatchObject({ visibility: 'PUBLIC', isFinal: true })
    expect(await show('shop.model.Order.Line')).toMatchObject({ visibility: 'PUBLIC' })
  })

  test('has the annotations of parameters where they are, whatever the compiler puts before and behind', async () => {
    const of = async (fqn: string) => (await show(fqn)).constructors[0].parameters
    expect(await of('shop.model.Order$Line')).toEqual([
      { name: 'arg0', type: 'shop.model.Order', annotations: [] },
      { name: 'arg1', type: 'shop.model.Item', annotations: checked('inner') },
    ])
    expect(await of('shop.model.Order$Builder$1Local')).toEqual([
      { name: 'arg0', type: 'shop.model.Order$Builder', annotations: [] },
      { name: 'arg1', type: 'int', annotations: checked('local') },
      { name: 'arg2', type: 'int', annotations: [] },
    ])
  })
})

test('stats count the project, and the classes that it is built on', async () => {
  const { stats } = await analyzer.get('/stats')
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

describe('implementations', () => {
  test('tell direct from indirect ones', async () => {
    const answer = await analyzer.get('/implementations/shop.model.Priced')
    expect(answer).toEqual({
      targetClass: 'shop.model.Priced',
      directImplementations: [
        summary('shop.model.Discounted', 'Discounted', {
          type: 'INTERFACE',
          isInterface: true,
          isAbstract: true,
        }),
        summary('shop.model.Order$Builder$1', 'Order$Builder$1'),
        summary('shop.model.Order$Builder$1Local', 'Local'),
      ],
      indirectImplementations: [summary('shop.model.Item', 'Item', { type: 'RECORD', isRecord: true })],
      totalCount: 4,
    })
  })

  test('of a JDK type are the project’s, and the JDK’s own when asked for', async () => {
    const own = await analyzer.get('/implementations/java.lang.Comparable')
    expect(fqns(own.directImplementations)).toEqual(['shop.model.Entity'])
    expect(fqns(own.indirectImplementations)).toEqual([
      'shop.model.Order',
      'shop.model.Size',
      'shop.model.Size$1',
      'shop.route.Route$Verb',
    ])
    const all = await analyzer.get('/implementations/java.lang.Comparable', { includeLibraries: true })
    expect(fqns(all.directImplementations)).toEqual(
      expect.arrayContaining(['java.lang.String', 'shop.model.Entity']),
    )
  })
})

describe('a hierarchy', () => {
  const node = (classFqn: string, simpleName: string, source: string, rest: object = {}) => ({
    classFqn,
    simpleName,
    source,
    isInterface: false,
    parent: null,
    interfaces: [],
    children: [],
    ...rest,
  })

  test('goes up to Object and its interfaces, and down to all subclasses', async () => {
    const object = node('java.lang.Object', 'Object', 'JDK')
    const comparable = node('java.lang.Comparable', 'Comparable', 'JDK', { isInterface: true })
    expect(await analyzer.get('/hierarchy/shop.model.Entity')).toEqual({
      targetClass: 'shop.model.Entity',
      hierarchy: node('shop.model.Entity', 'Entity', 'PROJECT', {
        parent: object,
        interfaces: [comparable],
        children: [node('shop.model.Order', 'Order', 'PROJECT')],
      }),
    })
    const { hierarchy } = await analyzer.get('/hierarchy/shop.model.Priced')
    expect(hierarchy.parent).toBeNull()
    expect(hierarchy.children[0]).toEqual(
      node('shop.model.Discounted', 'Discounted', 'PROJECT', {
        isInterface: true,
        children: [node('shop.model.Item', 'Item', 'PROJECT')],
      }),
    )
  })
})

test('dependencies are those of the class and those on it, once for each type', async () => {
  const { targetClass, outgoing, incoming } = await analyzer.get('/dependencies/shop.model.Item')
  const line = (classFqn: string, dependencyType: string) => ({
    classFqn,
    dependencyType,
    source: 'PROJECT',
    location: `${root}/target/classes`,
  })
  expect(targetClass).toBe('shop.model.Item')
  expect(outgoing).toEqual([
    line('shop.model.Discounted', 'IMPLEMENTS'),
    line('shop.route.Checked', 'TYPE_REFERENCE'),
  ])
  expect(incoming).toEqual([
    line('shop.model.Order', 'FIELD_TYPE'),
    line('shop.model.Order', 'METHOD_PARAMETER'),
    line('shop.model.Order', 'METHOD_RETURN_TYPE'),
    line('shop.model.Order', 'TYPE_REFERENCE'),
    line('shop.model.Order$Line', 'FIELD_TYPE'),
    line('shop.model.Order$Line', 'METHOD_PARAMETER'),
    line('shop.service.Calls', 'METHOD_PARAMETER'),
    line('shop.service.Calls', 'METHOD_RETURN_TYPE'),
    line('shop.service.Calls', 'TYPE_REFERENCE'),
  ])
  const all = await analyzer.get('/dependencies/shop.model.Item', { includeLibraries: true })
  expect(all.outgoing).toContainEqual(
    expect.objectContaining({ classFqn: 'java.lang.Record', dependencyType: 'EXTENDS', source: 'JDK' }),
  )
})

describe('methods', () => {
  const search = async (parameters: object): Promise<readonly string[]> => {
    const { methods } = await analyzer.get('/methods', { size: 200, ...parameters })
    return methods.map(({ classFqn, method }: any) => `${classFqn}.${method.name}${method.descriptor}`)
  }

  test('are told with their class, and without what the compiler made', async () => {
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

  test('of the JDK are found when asked for', async () => {
    expect(await search({ name: 'requireNonNullElse', includeLibraries: true })).toEqual([
      'java.util.Objects.requireNonNullElse(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;',
    ])
  })
})

describe('a question that cannot be answered', () => {
  test.each([
    ['/classes', { page: '-1' }, 'query parameter "page" must be a whole number, not "-1"'],
    ['/classes', { size: 0 }, 'size must be a whole number from 1 to 10000, not 0'],
    ['/classes', { size: 10_001 }, 'size must be a whole number from 1 to 10000, not 10001'],
    ['/classes', { size: '1e3' }, 'query parameter "size" must be a whole number, not "1e3"'],
    ['/classes', { interfaces: 'yes' }, 'query parameter "interfaces" must be true or false, not "yes"'],
    ['/classes', { colour: 'red' }, 'query parameter "colour" is not known; known: package, name'],
    [
      '/calls/shop.service.Calls',
      { descriptor: '()V' },
      'descriptor tells overloads of a method apart: give method too',
    ],
    ['/xref/shop.model.Item', { kind: 'CAST' }, 'kind "CAST" must be one of EXTENDS, IMPLEMENTS'],
    [
      '/annotations/usages/shop.route.Route',
      { scope: 'package' },
      'scope "package" must be one of class, method',
    ],
    ['/graph', { format: 'png' }, 'query parameter "format" must be one of json, dot'],
    ['/graph/foundation', { minDependents: 0 }, 'minDependents must be at least 1'],
  ])('%s %j is 400', async (path, parameters, said) => {
    const { status, body } = await analyzer.ask(path, parameters as Record<string, string | number>)
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
  ])('about a class that is not there, at /%s, is 404', async (route) => {
    const { status, body } = await analyzer.ask(`/${route}/no.such.Class`)
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: true, code: 404, type: 'NotFound', message: expect.stringContaining('"no.such.Class"') },
    })
  })

  test('at a route that is not there is 404 with the same body', async () => {
    const { status, body } = await analyzer.ask('/nothing')
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: true, code: 404, type: 'NotFound', message: expect.any(String) },
    })
  })

  test('A6 a name of 300 characters is looked for as any other', async () => {
    const name = `a.${'b'.repeat(298)}`
    const { status, body } = await analyzer.ask(`/classes/${name}`)
    expect({ status, type: body.type }).toEqual({ status: 404, type: 'NotFound' })
    expect(await list({ name })).toEqual([])
  })
})
