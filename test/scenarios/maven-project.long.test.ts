import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AnalyzerUser } from '../support/analyzer/analyzer-cli.ts'
import { mavenProject, mavenProjectClasses, mavenUser } from '../support/analyzer/maven-project.ts'
import { mergedBySpring, shownUsages } from '../support/analyzer/spring-annotations.ts'

const SPRING = 'org.springframework'
const WEB = `${SPRING}.web.bind.annotation`

const { root, folder } = mavenProject()

/** Runs a question as JSON and as a table. */
async function both(user: AnalyzerUser, command: string): Promise<{ json: any; table: string }> {
  const argv = [...command.split(' '), '-p', root]
  const json = await user.json<any>(...argv)
  const { status, stdout } = await user.analyzer(...argv, '--table')
  expect({ command, status }).toEqual({ command, status: 0 })
  return { json, table: stdout }
}

const names = (views: readonly { readonly fqn: string }[]) => views.map(({ fqn }) => fqn)

test('a new user runs every query on a built Maven project', { timeout: 600_000 }, async () => {
  const user = mavenUser()
  const ask = (command: string) => both(user, command)

  expect((await user.analyzer('status', '-p', root)).status).toBe(7)
  const started = await user.json<any>('start', '-p', root, '--mode', 'buildtool')
  expect(started).toMatchObject({ projectPath: root, mode: 'buildtool', status: 'READY' })
  expect((await ask('status')).json).toMatchObject({ pid: started.pid, status: 'READY' })
  const listed = await ask('list')
  expect(listed.json.servers).toMatchObject([{ pid: started.pid, projectPath: root }])
  expect(listed.table).toContain(String(started.port))
  expect((await ask('project')).json).toMatchObject({ name: 'shop', path: root, classCount: 18 })
  expect((await ask('refresh')).json).toMatchObject({ classCount: 18, classFilesRead: 0 })

  const all = await ask('classes list')
  expect(names(all.json.classes)).toEqual(mavenProjectClasses)
  expect(all.table).toMatch(/^shop\.model\.Payment\$Card +RECORD +PROJECT +5 +2$/m)
  expect(names((await ask(`classes list --annotation ${SPRING}.stereotype.Component`)).json.classes)).toEqual(
    [
      'shop.core.CoreConfiguration',
      'shop.core.Job',
      'shop.core.MemoryRepository',
      'shop.core.NightlyReport',
      'shop.core.OrderService',
      'shop.web.HealthController',
      'shop.web.OrderController',
      'shop.web.ShopApi',
    ],
  )
  expect(names((await ask('classes list --implements java.lang.Runnable')).json.classes)).toEqual([
    'shop.core.NightlyReport',
  ])
  const { classInfo } = (await ask('classes show shop.model.Payment')).json
  expect(classInfo).toMatchObject({
    isSealed: true,
    permittedSubclasses: ['shop.model.Payment$Card', 'shop.model.Payment$Cash'],
  })
  expect((await ask('classes show shop.model.Item')).table).toContain('isFree')
  const stats = (await ask('classes stats')).json
  expect(stats).toMatchObject({
    projectClassCount: 18,
    projectRecordCount: 3,
    projectEnumCount: 1,
    projectAnnotationCount: 2,
    classpathResolvedBy: 'maven',
    diagnosticCount: 0,
  })
  expect(stats.libraryClassCount).toBeGreaterThan(4_000)
  expect(stats.jdkClassCount).toBeGreaterThan(20_000)

  const payments = await ask('classes implementations shop.model.Payment')
  expect(names(payments.json.directImplementations)).toEqual([
    'shop.model.Payment$Card',
    'shop.model.Payment$Cash',
  ])
  const { hierarchy } = (await ask('classes hierarchy shop.core.NightlyReport')).json
  expect(hierarchy).toMatchObject({
    parent: { classFqn: 'java.lang.Object', source: 'JDK' },
    interfaces: [{ classFqn: 'java.lang.Runnable', source: 'JDK' }],
  })
  const service = await ask('classes dependencies shop.core.OrderService')
  expect(new Set(service.json.incoming.map(({ classFqn }: any) => classFqn))).toEqual(
    new Set(['shop.app.Shop', 'shop.web.OrderController']),
  )
  expect(service.json.outgoing).toContainEqual({
    classFqn: 'shop.model.Repository',
    dependencyType: 'FIELD_TYPE',
    source: 'PROJECT',
    location: 'orders',
  })
  const withLibraries = (await ask('classes dependencies shop.core.OrderService -L')).json.outgoing
  expect(
    withLibraries.find(({ classFqn }: any) => classFqn === `${SPRING}.stereotype.Service`),
  ).toMatchObject({ source: 'LIBRARY', location: null })

  const routes = await ask(`methods search --annotation ${WEB}.RequestMapping`)
  expect(routes.json.methods.map(({ classFqn, method }: any) => `${classFqn}.${method.name}`)).toEqual([
    'shop.web.HealthController.health',
    'shop.web.OrderController.open',
    'shop.web.OrderController.items',
    'shop.web.OrderController.pay',
    'shop.web.OrderController.options',
  ])
  const calls = await ask('calls shop.core.OrderService --include-lambdas')
  expect(calls.table).toMatch(/^open +\d+ +shop\.model\.Item\.<init> +"book", 1999$/m)
  const lambdas = calls.json.methods
    .flatMap(({ calls: sites }: any) => sites)
    .filter(({ via }: any) => via !== undefined)
  expect(lambdas.map(({ ownerType, methodName, via }: any) => `${ownerType}.${methodName} ${via}`)).toEqual([
    'shop.model.Order.<init> methodRef',
    'shop.model.Order.pay lambda',
    'java.lang.IllegalStateException.<init> lambda',
  ])
  const callers = await ask('callers shop.model.Order#pay')
  expect(
    callers.json.callers.map(({ classFqn, methodName, via }: any) => [classFqn, methodName, via]),
  ).toEqual([
    ['shop.core.OrderService', 'pay', 'lambda'],
    ['shop.model.OrderTest', 'isPaid', 'call'],
    ['shop.model.OrderTest', 'isPaid', 'call'],
  ])
  const item = await ask('xref shop.model.Item')
  expect(item.json.countsByKind).toMatchObject({
    RETURN: 3,
    INSTANTIATION: 4,
    FIELD: 1,
    PARAM: 2,
    CALL_RECEIVER: 2,
  })

  const graph = await user.json<any>('deps', '-p', root)
  expect(graph.nodes.map(({ fqn }: any) => fqn)).toEqual(mavenProjectClasses)
  expect(graph.edges).toContainEqual({
    source: 'shop.core.NightlyReport',
    target: 'shop.core.Job',
    type: 'TYPE_REFERENCE',
  })
  const begins = { dot: 'digraph', mermaid: 'graph LR', graphml: '<?xml', html: '<!doctype html>' }
  for (const [format, begin] of Object.entries(begins)) {
    const file = join(folder, `graph.${format}`)
    const { stdout } = await user.analyzer('deps', 'graph', '-p', root, '--format', format)
    expect(stdout.toLowerCase().startsWith(begin.toLowerCase()), format).toBe(true)
    expect(stdout).toContain('OrderController')
    await user.analyzer('deps', 'graph', '-p', root, '--format', format, '--output', file)
    expect(readFileSync(file, 'utf8')).toBe(stdout)
  }
  const foundation = await ask('deps foundation --min-dependents 5')
  expect(names(foundation.json.foundationClasses)).toEqual([
    'shop.model.Order',
    'shop.model.Payment',
    'shop.model.Item',
    'shop.model.Order$State',
  ])
  const cycles = await ask('deps cycles')
  expect(cycles.table).toMatch(/^2:\n {2}shop\.model\.Order\n {2}shop\.model\.Order\$State$/m)
  expect((await ask('deps cycles --of package')).table).toContain('no cycles')

  const restarted = await user.json<any>('restart', '-p', root)
  expect(restarted).toMatchObject({ mode: 'buildtool', status: 'READY' })
  expect(restarted.pid).not.toBe(started.pid)
  expect((await ask('project')).json).toMatchObject({ classCount: 18 })
  expect((await user.analyzer('stop', '-p', root)).status).toBe(0)
  expect((await user.analyzer('project', '-p', root)).status).toBe(7)
})

test(
  'an annotation’s usages and attributes match those that Spring merges',
  { timeout: 600_000 },
  async () => {
    const user = mavenUser()
    await user.json('start', '-p', root, '--mode', 'buildtool')
    const spring = mergedBySpring(root, folder)
    for (const annotation of [
      `${WEB}.RequestMapping`,
      `${WEB}.GetMapping`,
      `${WEB}.RestController`,
      `${WEB}.ResponseStatus`,
      `${WEB}.ResponseBody`,
      `${WEB}.RequestParam`,
      `${WEB}.PathVariable`,
      `${WEB}.ExceptionHandler`,
      `${SPRING}.stereotype.Component`,
      `${SPRING}.stereotype.Service`,
      `${SPRING}.context.annotation.Scope`,
      `${SPRING}.context.annotation.Bean`,
      `${SPRING}.context.annotation.ComponentScan`,
      `${SPRING}.context.annotation.Configuration`,
      `${SPRING}.beans.factory.annotation.Value`,
    ]) {
      const { json } = await both(user, `annotations usages ${annotation} --size 1000`)
      const theirs = spring(annotation, mavenProjectClasses)
      expect(theirs.length, annotation).toBeGreaterThan(0)
      expect(shownUsages(json.usages), annotation).toEqual(theirs)
    }
  },
)
