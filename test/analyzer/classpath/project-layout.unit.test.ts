import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { explainNoClasses, findModules } from '../../../src/analyzer/classpath/project-layout.ts'
import { tempDir } from '../../support/temp-dir.ts'

function projectOf(...paths: readonly string[]): string {
  const root = tempDir()
  for (const path of paths) {
    const isFile = /\.\w+$/.test(path)
    mkdirSync(join(root, isFile ? join(path, '..') : path), { recursive: true })
    if (isFile) writeFileSync(join(root, path), '')
  }
  return root
}

function found(root: string) {
  return findModules(root).map(({ path, build, classFolders, libraries }) => ({
    path: relative(root, path),
    build,
    classes: classFolders.map((folder) => relative(path, folder)),
    libraries: libraries.map((library) => relative(path, library)),
  }))
}

it('findModules finds the modules of a Maven project', () => {
  const root = projectOf(
    'pom.xml',
    'core/pom.xml',
    'core/target/classes/demo',
    'core/target/test-classes/demo',
    'core/target/dependency/a.jar',
    'nested/web/pom.xml',
    'core/src/test/resources/project/pom.xml',
    'node_modules/x/pom.xml',
  )
  symlinkSync(root, join(root, 'round'))
  expect(found(root)).toEqual([
    { path: '', build: 'maven', classes: [], libraries: [] },
    {
      path: 'core',
      build: 'maven',
      classes: ['target/classes', 'target/test-classes'],
      libraries: ['target/dependency/a.jar'],
    },
    { path: 'nested/web', build: 'maven', classes: [], libraries: [] },
  ])
})

it('findModules finds the modules of a Gradle project in any language', () => {
  const root = projectOf(
    'settings.gradle.kts',
    'app/build.gradle.kts',
    'app/build/classes/kotlin/main',
    'app/build/classes/java/test',
    'app/libs/b.jar',
  )
  expect(found(root)).toEqual([
    { path: '', build: 'gradle', classes: [], libraries: [] },
    {
      path: 'app',
      build: 'gradle',
      classes: ['build/classes/java/test', 'build/classes/kotlin/main'],
      libraries: ['libs/b.jar'],
    },
  ])
})

it('D11 findModules finds libraries of every kind, and no other files', () => {
  const names = ['a.jar', 'b.war', 'c.ear', 'd.rar', 'e.aar']
  const root = projectOf(
    ...names.map((name) => `lib/${name}`),
    'lib/f.zip',
    'lib/g.jar.txt',
    'lib/h.jar/x.txt',
  )
  expect(found(root)[0]?.libraries).toEqual(names.map((name) => `lib/${name}`))
})

it('findModules treats a folder without a supported build as one module', () => {
  expect(found(projectOf('build.xml', 'bin/demo', 'lib/c.jar'))).toEqual([
    { path: '', build: 'plain', classes: ['bin'], libraries: ['lib/c.jar'] },
  ])
})

const ANDROID = ['build.gradle', 'settings.gradle', 'app/build.gradle']

it.each([
  ['Android', ANDROID, 'app/build/intermediates/javac/debug/classes'],
  ['Android 8.1', ANDROID, 'app/build/intermediates/javac/freeDebug/compileFreeDebugJavaWithJavac/classes'],
  ['Kotlin on Android', ANDROID, 'app/build/tmp/kotlin-classes/debug'],
  ['Gradle with a module that only the settings name', ['settings.gradle'], 'one/build/classes/java/main'],
  ['Gradle in groups', ['settings.gradle'], 'libs/inner/one/build/classes/kotlin/main'],
  ['Quarkus', ['build.gradle'], 'build/classes/java/quarkus-generated-sources'],
  ['sbt', ['build.sbt'], 'target/scala-3.4.2/classes'],
  ['a project of sbt', ['build.sbt'], 'core/target/scala-3.4.2/classes'],
  ['tests of a project of sbt', ['build.sbt'], 'core/target/scala-2.13/test-classes'],
  ['sbt 2', ['build.sbt'], 'core/target/out/jvm/scala-3.7.2/core/classes'],
  ['Mill', ['build.mill'], 'out/app/compile.dest/classes'],
  ['a nested module of Mill', ['build.sc'], 'out/app/test/compile.dest/classes'],
  ['Maven without a POM in the module', ['pom.xml'], 'core/target/classes'],
])('findModules finds the class folder of %s', (_name, files, folder) => {
  const root = projectOf(...files, `${folder}/demo`)
  const folders = findModules(root).flatMap(({ classFolders }) => classFolders)
  expect(folders.map((each) => relative(root, each))).toEqual([folder])
})

it('findModules finds libraries that Quarkus copies', () => {
  const root = projectOf('pom.xml', 'target/quarkus-app/lib/main/a.jar', 'target/quarkus-app/lib/boot/b.jar')
  expect(found(root)[0]?.libraries).toEqual([
    'target/quarkus-app/lib/boot/b.jar',
    'target/quarkus-app/lib/main/a.jar',
  ])
})

it.each([
  [['pom.xml', 'core/pom.xml'], 'with "mvn compile"', '2 modules for target/classes, target/test-classes)'],
  [['pom.xml', 'mvnw'], 'with "./mvnw compile"', '1 module'],
  [['settings.gradle.kts', 'app/build.gradle.kts'], 'with "gradle classes"', 'build/classes/*/*'],
  [['build.sbt'], 'with "sbt compile"', 'target/scala-*/classes'],
  [['build.xml'], 'with "ant"', 'bin, classes, build/classes'],
  [
    ['MODULE.bazel'],
    'the output of Bazel is not searched: name its class folders or archives with ',
    'bin, classes',
  ],
  [['build.mill'], 'with "mill __.compile"', 'out/*/compile.dest/classes'],
  [['README.md'], 'compile the project, and run', 'bin, classes'],
])('explainNoClasses of a project with %j', (files, remedy, searched) => {
  const text = explainNoClasses(projectOf(...files), [])
  expect(text).toMatch(/^no compiled classes found; .*"analyzer restart --classes DIR"/)
  expect(text).toContain(remedy)
  expect(text).toContain(searched)
})
