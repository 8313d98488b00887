import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gradleTests, mavenTests } from '../../../../src/analyzer/faces/cli/test-selection.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** Returns a selection of one test in class folders. */
const selected = (...classFolders: readonly string[]) => ({
  classFqn: 'shop.ATest',
  methods: ['one'],
  classFolders,
})

test('Maven runs selected classes and methods, or no tests', () => {
  const selection = [
    { classFqn: 'shop.ATest', methods: null, classFolders: [] },
    { classFqn: 'shop.BTest', methods: ['one', 'two'], classFolders: [] },
    { classFqn: 'shop.CTest', methods: ['a name with spaces'], classFolders: [] },
  ]
  expect(mavenTests(selection)).toBe(
    '-Dtest=shop.ATest,shop.BTest#one+two,shop.CTest -Dsurefire.failIfNoSpecifiedTests=false',
  )
  expect(mavenTests([])).toBe('-DskipTests')
})

describe('Gradle', () => {
  /** Returns arguments for tests in class folders of a build with some settings. */
  function argumentsOf(settings: string, folders: readonly string[], all = folders) {
    const root = tempDir()
    mkdirSync(root, { recursive: true })
    if (settings !== '') writeFileSync(join(root, 'settings.gradle'), settings)
    const absolute = (each: readonly string[]) => each.map((folder) => join(root, folder))
    const selection = folders.length === 0 ? [] : [selected(...absolute(folders))]
    const { text, problems } = gradleTests(selection, root, absolute(all))
    return { text, problems: problems.map((problem) => problem.replaceAll(`${root}/`, '')) }
  }

  test('runs selected classes and methods, or no tests', () => {
    const root = tempDir()
    const folder = join(root, 'build/classes/java/test')
    const selection = [
      { classFqn: 'shop.ATest', methods: null, classFolders: [folder] },
      { classFqn: 'shop.BTest', methods: ['one', 'two'], classFolders: [folder] },
      { classFqn: 'shop.CTest', methods: ['a name with spaces'], classFolders: [folder] },
    ]
    expect(gradleTests(selection, root, [folder])).toEqual({
      text: ':test --tests shop.ATest --tests shop.BTest.one --tests shop.BTest.two --tests shop.CTest',
      problems: [],
    })
    expect(argumentsOf('', [])).toEqual({ text: '-x test', problems: [] })
  })

  test('A8 filters the task of each project, and excludes those of projects without selected tests', () => {
    const [one, two] = ['one/build/classes/java/test', 'two/build/classes/java/test']
    const main = 'two/build/classes/java/main'
    const include = "include 'one', 'two'"
    expect(argumentsOf(include, [one], [one, two, main]).text).toBe(
      ':one:test --tests shop.ATest.one -x :two:test',
    )
    expect(argumentsOf(include, [one, two]).text).toBe(
      ':one:test --tests shop.ATest.one :two:test --tests shop.ATest.one',
    )
  })

  test.each([
    ['build/classes/kotlin/test', ':test'],
    ['build/classes/java/integrationTest', ':integrationTest'],
    ['build/intermediates/javac/freeDebugUnitTest/classes', ':testFreeDebugUnitTest'],
    [
      'build/intermediates/javac/debugUnitTest/compileDebugUnitTestJavaWithJavac/classes',
      ':testDebugUnitTest',
    ],
    ['build/tmp/kotlin-classes/releaseUnitTest', ':testReleaseUnitTest'],
    ['out/test/classes', ':test'],
    ['target/test-classes', ':test'],
  ])('runs tests in %s with the task %s', (folder, task) => {
    expect(argumentsOf('', [folder], []).text).toBe(`${task} --tests shop.ATest.one`)
  })

  test.each([
    ['build/classes/java/main', 'no test task of Gradle is known for'],
    ['build/classes/java/testFixtures', 'no test task of Gradle is known for'],
    ['build/tmp/kotlin-classes/debugAndroidTest', 'no test task of Gradle is known for'],
    ['old/build/classes/java/test', 'is in no project of the Gradle build'],
    ['build/classes/java/my -Iscript', 'the task ":my -Iscript" cannot be an argument'],
  ])('leaves tests in %s out, and reports it', (folder, reason) => {
    const { text, problems } = argumentsOf('', [folder])
    expect(text).toBe('-x test')
    expect(problems).toEqual([expect.stringContaining('the tests of shop.ATest are left out: ')])
    expect(problems[0]).toContain(reason)
  })

  test('excludes neither other source sets nor included builds, which "gradle test" does not start', () => {
    const one = 'one/build/classes/java/test'
    const others = [
      'one/build/classes/java/integrationTest',
      'logic/build/classes/java/test',
      'android/build/tmp/kotlin-classes/debugUnitTest',
      'android/build/tmp/kotlin-classes/releaseUnitTest',
    ]
    expect(argumentsOf("include 'one', 'android'\nincludeBuild 'logic'", [one], [one, ...others]).text).toBe(
      ':one:test --tests shop.ATest.one -x :android:test',
    )
  })
})
