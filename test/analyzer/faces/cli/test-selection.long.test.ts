import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findModules } from '../../../../src/analyzer/classpath/project-layout.ts'
import { gradleTests } from '../../../../src/analyzer/faces/cli/test-selection.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { mavenJar } from '../../../support/analyzer/maven-jar.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** Tests with two methods, by module; each module of two has a class of the same name. */
const TESTS: Readonly<Record<string, string>> = {
  '.': 'shop.RootTest',
  one: 'shop.OneTest',
  two: 'shop.TwoTest',
  'group/inner': 'shop.InnerTest',
  'elsewhere/moved': 'shop.MovedTest',
  three: 'shop.SameTest',
  four: 'shop.SameTest',
}

function buildOf(): string {
  const root = tempDir()
  const jars = ['junit:junit:4.13.2', 'org.hamcrest:hamcrest-core:1.3'].map(mavenJar)
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  write(
    'settings.gradle',
    "include 'one', 'two', 'group:inner', 'three', 'empty'\ninclude 'moved' // 'old'\nproject(':moved').projectDir = new File(settingsDir, 'elsewhere/moved')\n['four'].each { include it }\n",
  )
  write(
    'build.gradle',
    `allprojects { apply plugin: 'java'\n dependencies { testCompile files(${jars.map((jar) => `'${jar}'`).join(', ')}) } }`,
  )
  for (const [module, fqn] of Object.entries(TESTS)) {
    const name = fqn.slice(fqn.lastIndexOf('.') + 1)
    write(
      join(module, `src/test/java/shop/${name}.java`),
      `package shop; public class ${name} { @org.junit.Test public void f() {} @org.junit.Test public void g() {} }`,
    )
  }
  return root
}

test(
  'A8 Gradle runs the selected tests of a build with several projects, and no others',
  {
    timeout: 300_000,
  },
  async () => {
    const root = buildOf()
    const gradle = async (...argv: readonly string[]): Promise<void> => {
      const { status, stdout, stderr } = await run('gradle', ['--offline', '--no-daemon', ...argv], {
        cwd: root,
      })
      expect(status, stdout + stderr).toBe(0)
    }
    await gradle('testClasses')
    const classFolders = findModules(root).flatMap((module) => module.classFolders)
    const select = (classFqn: string, methods: readonly string[] | null) => ({
      classFqn,
      methods,
      classFolders: classFolders.filter((folder) =>
        globSync('**/*.class', { cwd: folder }).includes(`${classFqn.replaceAll('.', '/')}.class`),
      ),
    })
    const selection = [
      select('shop.InnerTest', ['f']),
      select('shop.MovedTest', ['g']),
      select('shop.RootTest', ['f']),
      select('shop.SameTest', null),
    ]
    const { text, problems } = gradleTests(selection, root, classFolders)
    expect(problems).toEqual([])
    await gradle('test', ...text.split(' '))
    const ran = globSync('**/build/test-results/test/*.xml', { cwd: root }).flatMap((file) =>
      Array.from(readFileSync(join(root, file), 'utf8').matchAll(/<testcase name="(\w+)"/g), ([, name]) =>
        [dirname(file).replace(/\/?build\/test-results\/test$/, ''), name].join(' '),
      ),
    )
    expect(ran.toSorted()).toEqual(
      [' f', 'elsewhere/moved g', 'four f', 'four g', 'group/inner f', 'three f', 'three g'].toSorted(),
    )
  },
)
