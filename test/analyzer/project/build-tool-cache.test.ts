import {
  chmodSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { BuildToolCache } from '../../../src/analyzer/project/build-tool-cache.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { tempDir } from '../../support/temp-dir.ts'

const logger = createLogger({ level: 'fatal', format: 'json' })
const { signal } = new AbortController()
const question = (root: string) => ({ root, jvm: undefined, logger, signal })

function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(root, file, '..'), { recursive: true })
    writeFileSync(join(root, file), text)
  }
}

/** A project whose mvnw counts its runs and prints the class path of a file. The folder above belongs to the test. */
function countedProject() {
  const root = join(tempDir(), 'project')
  const jar = join(tempDir(), 'a.jar')
  writeFileSync(jar, '')
  write(root, {
    'pom.xml': '<project><modules><module>core</module></modules></project>',
    'core/pom.xml': '<project><version>1</version></project>',
    mvnw: '#!/bin/sh\necho run >> runs\necho "Dependencies classpath:"\ncat class-path\n',
    'class-path': `${jar}\n`,
  })
  chmodSync(join(root, 'mvnw'), 0o755)
  const runs = () => readFileSync(join(root, 'runs'), 'utf8').length / 4
  return { root, jar, runs }
}

test('D13 the build tool runs once for the same build, also after a restart', async () => {
  const { root, jar, runs } = countedProject()
  const folder = join(tempDir(), 'class-paths')
  const expected = { tool: 'maven', classFolders: [], isWhole: true, libraries: [jar] }
  const cache = new BuildToolCache(folder)
  expect(await cache.get(question(root))).toEqual(expected)
  expect(await cache.get(question(root))).toEqual(expected)
  expect(await new BuildToolCache(folder).get(question(root))).toEqual(expected)
  expect(runs()).toBe(1)
  // Another project shares nothing with it.
  const other = countedProject()
  expect((await new BuildToolCache(folder).get(question(other.root))).libraries).toEqual([other.jar])
})

const CHANGES: Readonly<Record<string, (project: ReturnType<typeof countedProject>) => void>> = {
  'the root POM': ({ root }) => write(root, { 'pom.xml': readFileSync(join(root, 'pom.xml'), 'utf8') }),
  'a POM whose size and modification time stay': ({ root }) => {
    const pom = join(root, 'core/pom.xml')
    const { atime, mtime } = statSync(pom)
    writeFileSync(pom, readFileSync(pom, 'utf8').replace('<version>1', '<version>2'))
    utimesSync(pom, atime, mtime)
  },
  'a parent POM above the project': ({ root }) => write(root, { '../pom.xml': '<project/>' }),
  'Maven’s settings of the project': ({ root }) => write(root, { '.mvn/maven.config': '-Pother' }),
  'the wrapper': ({ root }) => chmodSync(join(root, 'mvnw'), 0o700),
  'a new module': ({ root }) => write(root, { 'extra/pom.xml': '<project/>' }),
  'a script of Gradle': ({ root }) => write(root, { 'core/versions.gradle': 'ext { }' }),
  'code of the build': ({ root }) => write(root, { 'buildSrc/src/main/java/Plugin.java': 'class Plugin {}' }),
  'the user’s settings': ({ root }) => write(join(root, '../home'), { '.m2/settings.xml': '<settings/>' }),
  'the environment': () => vi.stubEnv('MAVEN_ARGS', '-Pother'),
  'the Maven on the path': ({ root }) => {
    const bin = join(root, '../bin')
    write(bin, { mvn: '#!/bin/sh\n' })
    chmodSync(join(bin, 'mvn'), 0o755)
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`)
  },
  'a jar that is missing': ({ jar }) => rmSync(jar),
}

test('D13 another path with the same programs changes nothing', async () => {
  const { root, runs } = countedProject()
  const folder = join(tempDir(), 'class-paths')
  await new BuildToolCache(folder).get(question(root))
  vi.stubEnv('PATH', `${tempDir()}:${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  await new BuildToolCache(folder).get(question(root))
  expect(runs()).toBe(1)
})

test.each(Object.keys(CHANGES))('D13 the build tool runs again after a change of %s', async (name) => {
  const project = countedProject()
  const { root, runs } = project
  vi.stubEnv('HOME', join(root, '../home'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const folder = join(tempDir(), 'class-paths')
  const afterRestart = () => new BuildToolCache(folder).get(question(root))
  await afterRestart()
  await afterRestart()
  expect(runs()).toBe(1)
  CHANGES[name]?.(project)
  await afterRestart()
  expect(runs()).toBe(2)
})

test('D13 an answer is used for a day, and a damaged one never', async () => {
  const { root, runs } = countedProject()
  const folder = join(tempDir(), 'class-paths')
  const clock = new FakeClock()
  const afterRestart = () => new BuildToolCache(folder, clock).get(question(root))
  await afterRestart()
  await clock.pass(24 * 60 * 60 * 1000 - 1)
  await afterRestart()
  expect(runs()).toBe(1)
  await clock.pass(1)
  await afterRestart()
  expect(runs()).toBe(2)
  const [file = ''] = globSync(join(folder, '*'))
  const saved = readFileSync(file, 'utf8')
  for (const damaged of ['', saved.slice(0, -1), '{}', '[]', saved.replace('"maven"', '"make"')]) {
    writeFileSync(file, damaged)
    const before = runs()
    expect((await afterRestart()).tool).toBe('maven')
    expect(runs()).toBe(before + 1)
  }
  // A clock that was set back.
  writeFileSync(file, saved.replace(/"saved_at_ms":\d+/, `"saved_at_ms":${clock.wallMs() + 1}`))
  const before = runs()
  await afterRestart()
  expect(runs()).toBe(before + 1)
})
