import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { summary } from '../../support/analyzer/class-summary.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const fqns = (rows: readonly { readonly fqn: string }[]): readonly string[] => rows.map(({ fqn }) => fqn)

describe('implementations', () => {
  test('distinguish direct from indirect ones', async () => {
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

  test('of a JDK type are those of the project, and of the JDK on request', async () => {
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

  test('D8 that of Object, which is sent in pieces, has all classes in order', async () => {
    const { hierarchy } = await analyzer.get('/hierarchy/java.lang.Object')
    const names: string[] = []
    const waiting = [hierarchy]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const children: readonly string[] = next.children.map(({ classFqn }: { classFqn: string }) => classFqn)
      expect(children).toEqual(children.toSorted((a, b) => (a < b ? -1 : 1)))
      names.push(...children)
      waiting.push(...next.children)
    }
    const answer = await analyzer.get('/implementations/java.lang.Object?includeLibraries=true')
    const implementations = [...answer.directImplementations, ...answer.indirectImplementations]
    expect(names.length).toBeGreaterThan(4_096)
    expect(new Set(names)).toEqual(new Set(implementations.map(({ fqn }) => fqn)))
    expect(answer.totalCount).toBe(implementations.length)
  })
})

test('dependencies are outgoing and incoming, once for each type and member', async () => {
  const { targetClass, outgoing, incoming } = await analyzer.get('/dependencies/shop.model.Item')
  const short = (lines: readonly any[]): readonly string[] =>
    lines.map(({ classFqn, dependencyType, source, location }) => {
      expect(source).toBe('PROJECT')
      return `${classFqn.slice('shop.'.length)} ${dependencyType} ${location}`
    })
  expect(targetClass).toBe('shop.model.Item')
  expect(short(outgoing)).toEqual([
    'model.Discounted IMPLEMENTS null',
    'route.Checked TYPE_REFERENCE <init>',
    'route.Checked TYPE_REFERENCE price',
  ])
  expect(short(incoming)).toEqual([
    'model.Order FIELD_TYPE items',
    'model.Order METHOD_PARAMETER <init>',
    'model.Order METHOD_PARAMETER add',
    'model.Order METHOD_RETURN_TYPE add',
    'model.Order METHOD_RETURN_TYPE all',
    'model.Order METHOD_RETURN_TYPE grid',
    'model.Order TYPE_REFERENCE grid',
    'model.Order$Line FIELD_TYPE of',
    'model.Order$Line METHOD_PARAMETER <init>',
    'service.Calls METHOD_PARAMETER lambdas',
    'service.Calls METHOD_PARAMETER overloaded',
    'service.Calls METHOD_RETURN_TYPE first',
    'service.Calls TYPE_REFERENCE constants',
    'service.Calls TYPE_REFERENCE first',
    'service.Calls TYPE_REFERENCE lambdas',
    'service.Calls TYPE_REFERENCE overloaded',
  ])
  const all = await analyzer.get('/dependencies/shop.model.Item', { includeLibraries: true })
  expect(all.outgoing).toContainEqual({
    classFqn: 'java.lang.Record',
    dependencyType: 'EXTENDS',
    source: 'JDK',
    location: null,
  })
})
