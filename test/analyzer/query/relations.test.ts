import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer-server.ts'
import { summary } from '../../support/class-summary.ts'

let analyzer: TestAnalyzer
const root = projectOf('shop')
beforeAll(async () => {
  analyzer = await startAnalyzer(root)
})
afterAll(() => analyzer.stop())

const fqns = (rows: readonly { readonly fqn: string }[]): readonly string[] => rows.map(({ fqn }) => fqn)

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
