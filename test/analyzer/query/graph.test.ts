import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

const TYPES = [
  'EXTENDS',
  'IMPLEMENTS',
  'FIELD_TYPE',
  'METHOD_RETURN_TYPE',
  'METHOD_PARAMETER',
  'TYPE_REFERENCE',
]

test('the graph has the project’s classes, and one edge for each pair and type', async () => {
  const { nodes, edges, nodeCount, edgeCount } = await analyzer.get('/graph')
  expect([nodes.length, edges.length]).toEqual([nodeCount, edgeCount])
  expect(nodeCount).toBe(28)
  expect(nodes.find(({ fqn }: any) => fqn === 'shop.model.Item')).toEqual({
    fqn: 'shop.model.Item',
    simpleName: 'Item',
    packageName: 'shop.model',
    inDegree: 3,
    outDegree: 2,
  })
  const between = (source: string, target: string): readonly string[] =>
    edges.filter((edge: any) => edge.source === source && edge.target === target).map(({ type }: any) => type)
  expect(between('shop.model.Order', 'shop.model.Item')).toEqual([
    'FIELD_TYPE',
    'METHOD_RETURN_TYPE',
    'METHOD_PARAMETER',
    'TYPE_REFERENCE',
  ])
  expect(between('shop.model.Order', 'shop.model.Entity')).toEqual([
    'EXTENDS',
    'METHOD_RETURN_TYPE',
    'TYPE_REFERENCE',
  ])
  expect(between('shop.model.Item', 'shop.model.Discounted')).toEqual(['IMPLEMENTS'])

  const names = new Set(nodes.map(({ fqn }: any) => fqn))
  const keys = edges.map(({ source, target, type }: any) => `${source} ${target} ${type}`)
  expect(new Set(keys).size).toBe(edgeCount)
  for (const { source, target, type } of edges) {
    expect(names.has(source) && names.has(target) && source !== target).toBe(true)
    expect(TYPES).toContain(type)
  }
  for (const { fqn, inDegree, outDegree } of nodes) {
    const distinct = (from: 'source' | 'target', to: 'source' | 'target') =>
      new Set(edges.filter((edge: any) => edge[from] === fqn).map((edge: any) => edge[to])).size
    expect([fqn, inDegree, outDegree]).toEqual([
      fqn,
      distinct('target', 'source'),
      distinct('source', 'target'),
    ])
  }
})

test('the dot format is a left-to-right directed graph named dependencies with rounded boxes', async () => {
  const lines = ((await analyzer.get('/graph', { format: 'dot' })) as string).split('\n')
  expect(lines.slice(0, 4)).toEqual([
    'digraph dependencies {',
    '  rankdir=LR;',
    '  node [shape=box, style=rounded];',
    '  edge [style=solid];',
  ])
  expect(lines).toContain('  "shop.model.Order$Builder" [label="Builder"];')
  expect(lines.filter((text) => text === '  "shop.model.Order" -> "shop.model.Item";')).toHaveLength(1)
  expect(lines.at(-1)).toBe('}')
})

test('foundation classes have enough dependents, those with most first', async () => {
  const { foundationClasses, count } = await analyzer.get('/graph/foundation')
  expect(count).toBe(foundationClasses.length)
  const counts = foundationClasses.map(({ dependentCount }: any) => dependentCount)
  expect(counts).toEqual(counts.toSorted((a: number, b: number) => b - a))
  expect(Math.min(...counts)).toBe(2)
  expect(foundationClasses[0]).toEqual({
    fqn: 'shop.model.Order',
    simpleName: 'Order',
    packageName: 'shop.model',
    dependentCount: 6,
    dependents: [
      'shop.model.Order$Builder',
      'shop.model.Order$Builder$1',
      'shop.model.Order$Builder$1Local',
      'shop.model.Order$Line',
      'shop.service.Calls',
      'shop.web.Pages',
    ],
  })
  const most = await analyzer.get('/graph/foundation', { minDependents: 6 })
  expect(most.foundationClasses.map(({ fqn }: any) => fqn)).toEqual([
    'shop.model.Order',
    'shop.route.Checked',
    'shop.route.Route',
  ])
  expect(await analyzer.get('/graph/foundation', { minDependents: 100 })).toEqual({
    foundationClasses: [],
    count: 0,
  })
})

test('cycles consist of classes or packages', async () => {
  const { cycles, count } = await analyzer.get('/graph/cycles')
  expect(count).toBe(cycles.length)
  expect(cycles.map(({ members }: any) => members)).toContainEqual([
    'shop.model.Payment',
    'shop.model.Payment$Card',
    'shop.model.Payment$Cash',
  ])
  expect(await analyzer.get('/graph/cycles', { of: 'package' })).toEqual({
    of: 'package',
    cycles: [],
    count: 0,
  })
})
