import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { smallJdk } from '../../support/analyzer/jdk.ts'

let analyzer: TestAnalyzer
/** Its classes name some that are on no class path. */
let lacking: TestAnalyzer
const MISSING = ['shop.model.Priced', 'shop.model.Entity', 'shop.route.Route', 'shop.model.Order$Line']

beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('shop'))
  const root = projectOf('shop')
  for (const name of MISSING) rmSync(join(root, 'target/classes', `${name.replaceAll('.', '/')}.class`))
  lacking = await startAnalyzer(root)
})
afterAll(() => Promise.all([analyzer.stop(), lacking.stop()]))

const exportedPackages = new Set(
  Array.from(
    execFileSync(join(smallJdk(), 'bin/java'), ['--describe-module', 'java.base'], {
      encoding: 'utf8',
    }).matchAll(/^exports (\S+)$/gm),
    ([, name]) => name,
  ),
)
const isExported = (fqn: string): boolean => exportedPackages.has(fqn.slice(0, fqn.lastIndexOf('.')))

/** Routes about a type, each with the part of the answer that does not depend on whether the type itself was read. */
const ROUTES: readonly (readonly [route: string, of: (answer: any) => unknown])[] = [
  ['implementations', ({ totalCount }) => totalCount],
  ['xref', ({ countsByKind }) => countsByKind],
  ['hierarchy', ({ hierarchy }) => hierarchy.children.map(({ classFqn }: any) => classFqn)],
  ['dependencies', ({ incoming }) => incoming.map(({ classFqn }: any) => classFqn)],
  ['annotations/usages', ({ countsByTarget }) => Object.keys(countsByTarget).length > 0],
]

describe('a type that is mentioned in class files but not on the class path', () => {
  test.each(MISSING.flatMap((name) => ROUTES.map(([route, of]) => [name, route, of] as const)))(
    '%s is answered by %s as if it were there',
    async (name, route, of) => {
      const path = `/${route}/${encodeURIComponent(name)}`
      const withoutMissing = (found: unknown): unknown =>
        Array.isArray(found) ? found.filter((each) => !MISSING.includes(each)) : found
      const expected = withoutMissing(of(await analyzer.get(path)))
      const found = withoutMissing(of(await lacking.get(path)))
      // The missing ones refer to each other in one place.
      if (name !== 'shop.model.Order$Line' && route !== 'xref') expect(found).toEqual(expected)
      else expect(found).toBeDefined()
    },
  )

  test('has callers', async () => {
    const path = '/callers/shop.model.Priced%23price'
    const { callers } = await lacking.get(path)
    expect(callers.map(({ classFqn }: any) => classFqn)).toEqual(['shop.service.Calls'])
  })

  test('is 404 in queries for its members, with a message that it is only mentioned', async () => {
    const { status, body } = await lacking.ask('/classes/shop.model.Priced')
    expect([status, body.message]).toEqual([
      404,
      'class "shop.model.Priced" is mentioned in class files, but is not on the class path',
    ])
  })

  test('is 404 everywhere when nothing mentions it', async () => {
    for (const [route] of ROUTES) {
      // A method has the name, but no type.
      for (const name of ['no.Such', 'overloaded'])
        expect((await analyzer.ask(`/${route}/${name}`)).status, `${route} ${name}`).toBe(404)
    }
  })
})

describe('names', () => {
  test.each([
    ['Priced', 'shop.model.Priced'],
    ['model.Priced', 'shop.model.Priced'],
    ['Order.Line', 'shop.model.Order$Line'],
    ['Order$Line', 'shop.model.Order$Line'],
    ['Line', 'shop.model.Order$Line'],
    ['Integer', 'java.lang.Integer'],
  ])('%s is %s', async (name, fqn) => {
    const { classInfo } = await analyzer.get(`/classes/${encodeURIComponent(name)}`)
    expect(classInfo.name.fqn).toBe(fqn)
    const path = (each: string): string => `/xref/${encodeURIComponent(each)}`
    expect(await analyzer.get(path(name))).toEqual(await analyzer.get(path(fqn)))
  })

  test.each([
    ['/classes/shop.model.Ordr', /did you mean shop\.model\.Order\?$/],
    ['/classes/com.example.Priced', /did you mean shop\.model\.Priced\?$/],
    ['/classes/prized', /did you mean shop\.model\.Priced\?$/],
    ['/xref/shop.model.Itm', /did you mean shop\.model\.Item\?$/],
    ['/callers/shop.model.Order%23al', /did you mean shop\.model\.Order#all\?$/],
  ])('%s is 404 with suggestions', async (path, message) => {
    const { status, body } = await analyzer.ask(path)
    expect([status, body.message]).toEqual([404, expect.stringMatching(message)])
  })

  test.each([
    // jdk.internal.misc.Unsafe, sun.nio.ch.IOUtil, jdk.internal.org.objectweb.asm.ClassWriter …
    ['Unsafee', undefined],
    ['com.example.Unsafe', undefined],
    ['IOUtill', undefined],
    ['ClassWriterr', undefined],
    ['sun.nio.ch.NioSocketImp', undefined],
    // Also in jdk.internal.org.objectweb.asm, whose classes come first by name.
    ['example.Type', 'java.lang.reflect.Type'],
    ['java.util.ArrayLst', 'java.util.ArrayList'],
    ['shop.Strng', 'java.lang.String'],
  ])('%s suggests no class that the JDK does not export', async (name, expected) => {
    const { status, body } = await analyzer.ask(`/classes/${name}`)
    const suggested = (/did you mean (.*)\?$/.exec(body.message)?.[1] ?? '').split(' or ').filter(Boolean)
    expect(status).toBe(404)
    expect(suggested.filter((fqn) => !isExported(fqn))).toEqual([])
    if (expected !== undefined) expect(suggested).toContain(expected)
  })

  test('of several classes is 404 with all of them', async () => {
    const { body } = await analyzer.ask('/classes/package-info')
    expect(body).toMatchObject({ classInfo: { name: { fqn: 'shop.web.package-info' } } })
    const { status, body: several } = await analyzer.ask('/classes/Entry')
    expect([status, several.message]).toEqual([
      404,
      expect.stringMatching(/^"Entry" is ambiguous, \d+ classes have this name: .*java\.util\.Map\$Entry/),
    ])
  })
})
