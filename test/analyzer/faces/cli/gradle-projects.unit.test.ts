import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { GradleProjects } from '../../../../src/analyzer/faces/cli/gradle-projects.ts'
import { tempDir } from '../../../support/temp-dir.ts'

function projectWith(files: Readonly<Record<string, string>>): string {
  const root = tempDir()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

/** Returns the paths of projects by their folders, as a build with these settings has them. */
function pathsOf(file: string, settings: string, ...folders: readonly string[]) {
  const root = projectWith({ [file]: settings })
  const projects = new GradleProjects(root)
  return folders.map((folder) => projects.find(join(root, folder))?.path)
}

it.each([
  [
    'Groovy',
    "include 'one', \"two\"\n// include 'old'",
    ['', 'one', 'two', 'old'],
    ['', ':one', ':two', undefined],
  ],
  [
    'several lines',
    "include 'one',\n  ':two' /* 'old', */\ninclude('three')",
    ['one', 'two', 'three'],
    [':one', ':two', ':three'],
  ],
  ['a list', "include(['one', 'two'] as String[])", ['one', 'two'], [':one', ':two']],
  ['nested projects', "include 'a:b:c'", ['a', 'a/b', 'a/b/c', 'b'], [':a', ':a:b', ':a:b:c', undefined]],
  [
    'a folder',
    "include 'a', 'b'\nproject(':a').projectDir = file('x/y')",
    ['x/y', 'a', 'b'],
    [':a', undefined, ':b'],
  ],
  ['a new File', "include 'a'\nproject(':a').projectDir = new File(settingsDir, './x')", ['x'], [':a']],
  ['a text with a variable', "include 'a'\nproject(':a').projectDir = file(\"$rootDir/x\")", ['x'], [':a']],
  [
    'a folder below a moved one',
    "include 'a'\nproject(':a').projectDir = file('x')\ninclude 'a:b'",
    ['x/b'],
    [':a:b'],
  ],
  [
    'a folder moved later',
    "include 'a:b'\nproject(':a').projectDir = file('x')",
    ['x', 'a/b'],
    [':a', ':a:b'],
  ],
  ['computed names', "['one', 'two'].each { include it }", ['one', 'a/b'], [':one', ':a:b']],
  ['a variable', "include 'one', more", ['one', 'two'], [':one', ':two']],
  ['another script', "include 'one'\napply from: 'more.gradle'", ['one', 'two'], [':one', ':two']],
])('Gradle settings with %s name projects', (_name, settings, folders, paths) => {
  expect(pathsOf('settings.gradle', settings, ...folders)).toEqual(paths)
})

it('Gradle settings in Kotlin name projects', () => {
  const settings = `plugins { id("org.example.conventions") version "1" }
rootProject.name = "shop"
include(
    ":app",
    ":lib:core",
)
project(":lib:core").projectDir = rootDir.resolve("core")
project(":app").projectDir = File(settingsDir, "apps/main")`
  expect(pathsOf('settings.gradle.kts', settings, 'apps/main', 'lib', 'core')).toEqual([
    ':app',
    ':lib',
    ':lib:core',
  ])
})

it('projects of an included build have its name', () => {
  const root = projectWith({
    'settings.gradle': "includeBuild 'tools/logic'\ninclude 'one'",
    'tools/logic/settings.gradle': "include 'api'",
    'other/settings.gradle': "include 'api'",
  })
  const projects = new GradleProjects(root)
  expect(projects.find(join(root, 'tools/logic/api'))).toEqual({ path: ':logic:api', isIncluded: true })
  expect(projects.find(join(root, 'one'))).toEqual({ path: ':one', isIncluded: false })
  expect(projects.find(join(root, 'other/api'))).toBeUndefined()
})

it('Gradle started in a project has the settings above it, if they include it', () => {
  const root = projectWith({
    'settings.gradle': "include 'one'",
    'one/build.gradle': '',
    'one/inner/build.gradle': '',
    'alone/build.gradle': '',
  })
  expect(new GradleProjects(join(root, 'one')).find(join(root, 'one'))?.path).toBe(':one')
  const alone = new GradleProjects(join(root, 'alone'))
  expect(alone.find(join(root, 'alone'))?.path).toBe('')
  expect(alone.around(join(root, 'alone/target/test-classes'))?.path).toBe('')
})
