import { chmodSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { run } from '../../../src/lib/process/run.ts'
import { buildToolClassPath } from '../../../src/analyzer/project/build-tool-class-path.ts'
import { findJvm } from '../../../src/analyzer/project/find-jvm.ts'
import { tempDir } from '../../support/temp-dir.ts'

const logger = createLogger({ level: 'fatal', format: 'json' })
const { signal } = new AbortController()
const jvm = findJvm(undefined, process.env)
const question = (root: string) => ({ root, jvm, logger, signal })

function write(root: string, files: Readonly<Record<string, string>>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(root, file, '..'), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

const head = '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
const parent = '<parent><groupId>shop</groupId><artifactId>shop</artifactId><version>1</version></parent>'
const needs = (group: string, name: string, version: string) =>
  `<dependencies><dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency></dependencies>`

/** Two modules, the second of which needs the first, which nobody has installed. */
function mavenProject(library = needs('org.apache.commons', 'commons-lang3', '3.14.0')): string {
  const own =
    '<groupId>shop</groupId><artifactId>shop</artifactId><version>1</version><packaging>pom</packaging>'
  return write(tempDir(), {
    'pom.xml': `${head}${own}<modules><module>core</module><module>web</module></modules></project>`,
    'core/pom.xml': `${head}${parent}<artifactId>core</artifactId>${library}</project>`,
    'core/src/main/java/shop/Core.java': 'package shop; public class Core {}',
    'web/pom.xml': `${head}${parent}<artifactId>web</artifactId>${needs('shop', 'core', '1')}</project>`,
    'web/src/main/java/shop/Web.java': 'package shop; public class Web extends Core {}',
  })
}

test(
  'Maven resolves the class path of interdependent modules that are not installed, and builds no classes',
  { timeout: 300_000 },
  async () => {
    const root = mavenProject()
    const { libraries, ...answer } = await buildToolClassPath(question(root))
    expect(answer).toEqual({ tool: 'maven', classFolders: [], isWhole: true })
    expect(libraries.map((jar) => basename(jar))).toEqual(['commons-lang3-3.14.0.jar'])
    expect(globSync('**/*.class', { cwd: root })).toEqual([])
  },
)

test('an unresolvable module does not affect the others', { timeout: 300_000 }, async () => {
  const root = mavenProject()
  const without = needs('shop.nowhere', 'nothing', '1')
  write(root, { 'web/pom.xml': `${head}${parent}<artifactId>web</artifactId>${without}</project>` })
  const { libraries, isWhole } = await buildToolClassPath(question(root))
  expect(isWhole).toBe(false)
  expect(libraries.map((jar) => basename(jar))).toEqual(['commons-lang3-3.14.0.jar'])
})

test('Maven without a network is reported as such', { timeout: 300_000 }, async () => {
  const root = mavenProject(needs('shop.nowhere', 'nothing', '1'))
  write(root, { '.mvn/maven.config': '--offline\n' })
  await expect(buildToolClassPath(question(root))).rejects.toThrow(
    /^mvn: .*shop\.nowhere:nothing.*run "mvn dependency:build-classpath" once with network access, or use --mode jar/,
  )
})

test('the project’s mvnw runs on the configured JVM', { timeout: 300_000 }, async () => {
  const root = mavenProject()
  const home = join(tempDir(), 'jdk')
  symlinkSync(jvm?.home ?? '', home)
  write(root, { mvnw: '#!/bin/sh\necho "$JAVA_HOME" > asked\nexec mvn "$@"\n' })
  await expect(buildToolClassPath(question(root))).rejects.toThrow(`${join(root, 'mvnw')} is not executable`)
  chmodSync(join(root, 'mvnw'), 0o755)
  const named = findJvm(home, process.env)
  expect((await buildToolClassPath({ ...question(root), jvm: named })).libraries).toHaveLength(1)
  expect(readFileSync(join(root, 'asked'), 'utf8')).toBe(`${home}\n`)
})

test(
  'Gradle returns jars and class folders of all projects, and leaves the project unchanged',
  { timeout: 300_000 },
  async () => {
    const jar = join(tempDir(), 'money-1.jar')
    await run('jar', ['cfM', jar, '-C', tempDir(), '.'])
    const root = write(tempDir(), {
      'settings.gradle': "rootProject.name = 'shop'\ninclude 'core', 'web'",
      'core/build.gradle': `apply plugin: 'java'\ndependencies { compile files('${jar}') }`,
      'core/src/main/java/shop/Core.java': 'package shop; public class Core {}',
      'web/build.gradle':
        "apply plugin: 'java'\nrepositories { flatDir { dirs 'none' } }\ndependencies { compile project(':core'); runtime 'shop.nowhere:nothing:1' }",
    })
    const before = contentOf(root)
    const answer = await buildToolClassPath(question(root))
    expect(answer).toMatchObject({ tool: 'gradle', libraries: [jar], isWhole: false })
    expect(answer.classFolders.map((folder) => relative(root, folder)).toSorted()).toEqual(
      ['core', 'web'].flatMap((name) => [
        `${name}/build/classes/java/main`,
        `${name}/build/classes/java/test`,
      ]),
    )
    expect(contentOf(root)).toEqual(before)

    write(root, { 'web/build.gradle': "throw new GradleException('no such shop')" })
    await expect(buildToolClassPath(question(root))).rejects.toThrow(/^gradle: .*no such shop/)
  },
)

function contentOf(root: string): readonly string[] {
  return globSync('**', { cwd: root })
    .toSorted()
    .map((file) => `${file} ${statSync(join(root, file)).mtimeMs}`)
}

test('a project without either tool’s files is reported as such', async () => {
  const root = write(tempDir(), { 'build.xml': '<project/>' })
  await expect(buildToolClassPath(question(root))).rejects.toThrow(
    'the project has neither a pom.xml nor a build.gradle',
  )
})
