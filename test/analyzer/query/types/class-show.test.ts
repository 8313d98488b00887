import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
const root = projectOf('shop')
beforeAll(async () => {
  analyzer = await startAnalyzer(root)
})
afterAll(() => analyzer.stop())

describe('one class', () => {
  const show = async (fqn: string, parameters = {}) =>
    (await analyzer.get(`/classes/${encodeURIComponent(fqn)}`, parameters)).classInfo
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
    const info = await show('shop.model.Order', { synthetic: true })
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

  test('has the names of its parameters if the class file has them', { tags: ['long'] }, async () => {
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

  test('has the annotations of parameters in the right position despite compiler-generated parameters', async () => {
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
