import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { compiled } from '../../../support/analyzer/javac.ts'

let analyzer: TestAnalyzer
let root: string

const pathOf = (name: string): string => join(root, '../jars', `${name}.jar`)

/** The project has package web, which uses packages core and data. */
beforeAll(async () => {
  root = projectOf('rules')
  const classes = join(root, 'target/classes')
  const folder = join(root, '../jars')
  mkdirSync(join(folder, 'META-INF/services'), { recursive: true })
  writeFileSync(join(folder, 'META-INF/services/demo.Shapes'), 'demo.Square')
  const jar = (name: string, ...files: readonly string[]): void => {
    execFileSync('jar', ['--create', '--file', pathOf(name), ...files])
  }
  jar('core', '-C', classes, 'core')
  jar('copy', '-C', classes, 'core')
  jar('data', '-C', classes, 'data')
  jar('idle', '-C', compiled('demo'), '.', '-C', folder, 'META-INF')
  for (const name of ['core', 'data']) rmSync(join(classes, name), { recursive: true })
  const pom = '<groupId>fixture</groupId><!-- <artifactId>none</artifactId> -->'
  writeFileSync(
    join(root, 'pom.xml'),
    `<project>${pom}<parent><artifactId>parent</artifactId></parent><name a="b"/><artifactId>web</artifactId></project>`,
  )
  answerWith([])
  analyzer = await startAnalyzer(root, {}, { server: { mode: 'buildtool' } })
})
afterAll(() => analyzer.stop())
beforeEach(() => rmSync(join(root, 'runs'), { force: true }))

/** Lets Maven answer with these lines, and any other question with the class path. */
function answerWith(lines: readonly string[], status = 0): void {
  const classPath = ['core', 'copy', 'data', 'idle'].map(pathOf).join(':')
  writeFileSync(join(root, 'answer'), lines.map((line) => `[INFO] ${line}\n`).join(''))
  writeFileSync(
    join(root, 'mvnw'),
    `#!/bin/sh
case "$*" in
*build-classpath*) echo "Dependencies classpath:"; echo ${classPath};;
*) echo run >> runs; cat answer; exit ${status};;
esac
`,
  )
  chmodSync(join(root, 'mvnw'), 0o755)
}

const file = (coordinates: string, name: string, more = ''): string =>
  `   ${coordinates}:${pathOf(name)}${more}`

const check = (parameters = {}) => analyzer.get('/graph/declared', parameters)
const briefly = ({ dependencies }: any) =>
  dependencies.map(({ kind, coordinates, broughtBy, classCount, reasons }: any) => [
    kind,
    coordinates,
    broughtBy,
    classCount,
    ...reasons,
  ])

test('dependencies of both formats of the plugin are compared with the types that classes mention', async () => {
  answerWith([
    '--- dependency:3.6.1:list (default-cli) @ web ---',
    'The following files have been resolved:',
    file('fixture:core:jar:1:compile', 'core', ' -- module core (auto)'),
    file('fixture:data:jar:1:compile', 'data'),
    file('fixture:idle:jar:extra:1:provided', 'idle', ' (optional) '),
    '--- maven-dependency-plugin:2.8:tree (default-cli) @ web ---',
    'fixture:web:jar:1',
    '+- fixture:core:jar:1:compile',
    '|  \\- fixture:data:jar:1:compile (version managed from 2)',
    '\\- fixture:idle:jar:extra:1:provided (optional)',
    '--- maven-dependency-plugin:2.8:tree (default-cli) @ elsewhere ---',
    'fixture:elsewhere:jar:1',
    '\\- fixture:core:jar:1:compile',
    '--- maven-dependency-plugin:2.8:tree (default-cli) @ parent ---',
    'fixture:parent:pom:1',
    '\\- fixture:core:jar:1:compile',
  ])
  const answer = await check()
  expect(briefly(answer)).toEqual([
    ['undeclared', 'fixture:data:jar:1', 'fixture:core:jar:1', 2],
    [
      'unused',
      'fixture:idle:jar:extra:1',
      null,
      0,
      'it has annotations with SOURCE retention',
      'it registers demo.Shapes',
    ],
  ])
  expect(answer).toMatchObject({
    problem: null,
    moduleCount: 1,
    unexplainedCount: 1,
    notes: ['1 module not checked, because the build tool did not resolve them: fixture:elsewhere'],
  })
  expect(answer.dependencies[0].classes).toEqual(['web.Misnamed', 'web.OrderController'])
  expect(briefly(await check({ of: 'unused' }))).toHaveLength(1)
  expect(briefly(await check({ size: 1, page: 1 }))).toHaveLength(1)
})

test('a class that several dependencies have needs only one of them to be declared', async () => {
  answerWith([
    '--- maven-dependency-plugin:2.8:list (default-cli) @ web ---',
    file('fixture:core:jar:1:compile', 'core'),
    file('fixture:copy:jar:1:compile', 'copy'),
    file('fixture:data:jar:1:compile', 'data'),
    '--- maven-dependency-plugin:2.8:tree (default-cli) @ web ---',
    'fixture:web:jar:1',
    '+- fixture:copy:jar:1:compile',
    '\\- fixture:data:jar:1:compile',
    '   \\- fixture:core:jar:1:compile',
  ])
  expect(briefly(await check())).toEqual([])
})

test('Maven is asked once for the same build, and again if a module was missing', async () => {
  const tree = ['--- dependency:3.6.1:tree (default-cli) @ web ---', 'fixture:web:jar:1']
  const runs = () => readFileSync(join(root, 'runs'), 'utf8').length / 4
  answerWith(tree)
  await Promise.all([check(), check()])
  await check()
  expect(runs()).toBe(1)
  answerWith([...tree, '--- dependency:3.6.1:tree (default-cli) @ other ---', 'fixture:other:jar:1'])
  await check()
  await check()
  expect(runs()).toBe(3)
})

test('a failure of Maven is the problem of the answer', async () => {
  answerWith([], 1)
  expect(await check()).toMatchObject({
    dependencies: [],
    problem: 'mvnw: it exited with status 1',
    moduleCount: 0,
  })
})

test('modules without compiled classes are named, not judged', async () => {
  answerWith([
    '--- maven-dependency-plugin:2.8:tree (default-cli) @ web ---',
    'fixture:web:jar:1',
    '\\- fixture:idle:jar:1:compile',
  ])
  const classes = join(root, 'target/classes')
  const aside = join(root, '../aside')
  cpSync(classes, aside, { recursive: true })
  rmSync(classes, { recursive: true })
  const refresh = () =>
    fetch(`${analyzer.url}/api/v1/project/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${analyzer.token}` },
    })
  expect((await refresh()).status).toBe(200)
  expect(await check()).toMatchObject({
    dependencies: [],
    notes: ['1 module not checked, because they have no compiled classes: fixture:web'],
  })
  cpSync(aside, classes, { recursive: true })
  expect((await refresh()).status).toBe(200)
})
