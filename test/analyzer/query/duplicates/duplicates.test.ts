import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { compiled } from '../../../support/analyzer/javac.ts'

let analyzer: TestAnalyzer
let root: string
beforeAll(async () => {
  root = projectOf('demo')
  const lib = join(root, 'lib')
  mkdirSync(lib)
  const jar = (name: string, folder: string): void => {
    execFileSync('jar', ['--create', '--file', join(lib, name), '-C', folder, '.'])
  }
  jar('a.jar', compiled('rules'))
  // The core package without one class.
  const folder = join(root, '../part')
  cpSync(join(compiled('rules'), 'core'), join(folder, 'core'), { recursive: true })
  rmSync(join(folder, 'core/Special.class'))
  jar('b.jar', folder)
  // The classes of the project, compiled in a different way.
  jar('c.jar', compiled('demo', ['-g']))
  // A class of the JDK.
  const source = join(root, '../source/java/lang')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'Deprecated.java'), 'package java.lang; public @interface Deprecated {}')
  const patched = join(root, '../patched')
  execFileSync('javac', [
    '--patch-module',
    `java.base=${join(root, '../source')}`,
    '-d',
    patched,
    join(source, 'Deprecated.java'),
  ])
  jar('d.jar', patched)
  analyzer = await startAnalyzer(root)
})
afterAll(() => analyzer.stop())

const short = (location: string): string => location.replace(`${root}/`, '')

test('classes that are on the class path more than once have their places, in loading order', async () => {
  const { classes, pairs, ...page } = await analyzer.get('/duplicates', { size: 1000 })
  const found = classes.map(({ classFqn, locations, isIdentical }: any) => [
    classFqn,
    isIdentical,
    ...locations.map(({ location }: any) => short(location)),
  ])
  const core = ['Clock', 'Inject', 'OrderService', 'OrderService$Line', 'OrderService$State', 'Secured']
  expect(found.filter(([name]: any) => name.startsWith('core.'))).toEqual(
    core.map((name) => [`core.${name}`, true, 'lib/a.jar', 'lib/b.jar']),
  )
  const own = found.filter(([name]: any) => name.startsWith('demo.'))
  expect(own).toContainEqual(['demo.Calls', false, 'target/classes', 'lib/c.jar'])
  // Also classes of the JDK hide those of archives.
  const deprecated = found.find(([name]: any) => name === 'java.lang.Deprecated')
  expect(deprecated.slice(1)).toEqual([false, expect.stringContaining('modules'), 'lib/d.jar'])
  expect(page.totalCount).toBe(core.length + own.length + 1)
  expect(
    pairs.map(({ loaded, hidden, classCount }: any) => [short(loaded), short(hidden), classCount]),
  ).toEqual([
    ['target/classes', 'lib/c.jar', own.length],
    ['lib/a.jar', 'lib/b.jar', core.length],
    [deprecated[2], 'lib/d.jar', 1],
  ])
})

test('packages in several places have the number of classes in each', async () => {
  const { packages, totalCount } = await analyzer.get('/duplicates', { of: 'package', size: 1000 })
  const found = packages.map(({ packageName, locations }: any) => [
    packageName,
    Object.fromEntries(locations.map(({ location, classCount }: any) => [short(location), classCount])),
  ])
  expect(found.find(([name]: any) => name === 'core')).toEqual(['core', { 'lib/a.jar': 7, 'lib/b.jar': 6 }])
  expect(found.map(([name]: any) => name)).not.toContain('web')
  expect(totalCount).toBe(found.length)
})
