import { afterAll, beforeAll, expect, test } from 'vitest'
import { ANALYZER_SHAPES, type Shape } from '../../contract/analyzer-shapes.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { sorted } from '../../support/check/reference.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
})
afterAll(() => analyzer.stop())

/** Returns the mismatches between a value and a shape, each with its path. */
function misfits(value: unknown, shape: Shape, at = 'answer'): readonly string[] {
  if (typeof shape === 'function') {
    const own = shape()
    // A list of one shape from a function: the value itself, which may be null.
    return Array.isArray(own)
      ? value === null
        ? []
        : misfits(value, own[0] ?? 'never', at)
      : misfits(value, own, at)
  }
  if (typeof shape === 'string')
    return fits(value, shape) ? [] : [`${at} is ${JSON.stringify(value)?.slice(0, 60)}, not ${shape}`]
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${at} is not a list`]
    return value.flatMap((item, i) => misfits(item, shape[0] ?? 'never', `${at}[${i}]`))
  }
  if (typeof value !== 'object' || value === null) return [`${at} is not an object`]
  return Object.entries(shape).flatMap(([key, own]) => {
    const name = key.replace(/\?$/, '')
    if (!(name in value)) return key.endsWith('?') ? [] : [`${at}.${name} is missing`]
    return misfits((value as Record<string, unknown>)[name], own, `${at}.${name}`)
  })
}

function fits(value: unknown, shape: string): boolean {
  if (value === null) return shape.endsWith('?')
  const type = shape.replace(/\?$/, '')
  if (type === 'scalar') return ['string', 'number'].includes(typeof value)
  // A name is never empty: what has none is null.
  if (type === 'string') return typeof value === 'string' && (!shape.endsWith('?') || value !== '')
  return ['number', 'boolean', 'object'].includes(type)
    ? typeof value === type
    : type.split('|').some((word) => word === value)
}

test.each(ANALYZER_SHAPES)('%s responds in the shape that clients expect', async (path, shape, mediaType) => {
  const response = await fetch(analyzer.url + path, {
    headers: { authorization: `Bearer ${analyzer.token}` },
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toContain(mediaType)
  const text = await response.text()
  expect(misfits(mediaType === 'application/json' ? JSON.parse(text) : text, shape)).toEqual([])
})

test('every GET route of the contract has a shape here', async () => {
  const headers = { authorization: `Bearer ${analyzer.token}` }
  const { paths } = (await (await fetch(`${analyzer.url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, { get?: object }>
  }
  const routes = Object.entries(paths).flatMap(([path, { get }]) => (get === undefined ? [] : [path]))
  const isOf = (route: string, path: string): boolean =>
    new RegExp(`^${route.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? '')
  const without = routes.filter((route) => !ANALYZER_SHAPES.some(([path]) => isOf(route, path)))
  expect(sorted(without)).toEqual([
    '/api/v1/callers/{name}',
    '/api/v1/graph/cycles',
    '/api/v1/source/{name}/method/{method}',
  ])
})

test('the location of each dependency is a member of the dependent class', async () => {
  const { classes } = await analyzer.get('/classes', { size: 1000 })
  const members = new Map<string, ReadonlySet<string>>()
  for (const { fqn } of classes) {
    const { classInfo } = await analyzer.get(`/classes/${encodeURIComponent(fqn)}`)
    const { fields, methods, constructors, recordComponents = [] } = classInfo
    const names = [...fields, ...methods, ...constructors, ...recordComponents].map(({ name }: any) => name)
    members.set(fqn, new Set([...names, '<clinit>']))
  }
  let named = 0
  for (const { fqn } of classes) {
    const answer = await analyzer.get(`/dependencies/${encodeURIComponent(fqn)}`)
    const uses = [
      ...answer.outgoing.map(({ location }: any) => [fqn, location]),
      ...answer.incoming.map(({ classFqn, location }: any) => [classFqn, location]),
    ]
    for (const [from, location] of uses) {
      if (location === null) continue
      expect([...(members.get(from) ?? [])], from).toContain(location)
      named++
    }
  }
  expect(named).toBeGreaterThan(50)
})
