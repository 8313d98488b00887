import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { TextRequest } from '../../../../src/analyzer/source/archive/text-request.ts'
import { findText } from '../../../../src/analyzer/source/archive/find-text.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { zipOf } from '../../../support/analyzer/zip.ts'

let home: string
beforeEach(() => {
  home = tempDir()
})

function archive(path: string, files: Readonly<Record<string, string>>): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  const entries = Object.entries(files).map(([name, text]) => ({ name, bytes: Buffer.from(text) }))
  writeFileSync(file, zipOf(entries))
  return file
}

const question = (location: string, own: Partial<TextRequest> = {}): TextRequest => ({
  root: home,
  source: 'LIBRARY',
  location,
  outermost: 'acme/Util',
  sourceFile: 'Util.java',
  language: undefined,
  repositories: { maven: join(home, 'm2/repository'), gradle: join(home, 'gradle/caches') },
  ...own,
})

const SOURCE = 'package acme; class Util {}'
const coordinates = 'groupId=com.acme\nartifactId=util\nversion=1.0\n'
const properties = (text = coordinates) => ({ 'META-INF/maven/com.acme/util/pom.properties': text })

test('sources are found next to the library', () => {
  const jar = archive('lib/util-1.0.jar', {})
  const sources = archive('lib/util-1.0-sources.jar', { 'acme/Util.java': SOURCE })
  expect(findText(question(jar))).toEqual({
    mavenCoordinates: null,
    found: {
      text: SOURCE,
      filePath: `${sources}!/acme/Util.java`,
      entry: 'acme/Util.java',
      language: 'java',
      origin: 'SOURCE_JAR',
      module: null,
    },
  })
})

test.each([
  ['Maven', 'm2/repository/com/acme/util/1.0/util-1.0-sources.jar'],
  ['Gradle', 'gradle/caches/modules-2/files-2.1/com.acme/util/1.0/0a1b/util-1.0-sources.jar'],
])('sources are found in the repository of %s by the coordinates in the library', (_tool, path) => {
  const jar = archive('elsewhere/util.jar', properties())
  archive(path, { 'acme/Util.java': SOURCE })
  const { found, mavenCoordinates } = findText(question(jar))
  expect([found?.text, mavenCoordinates]).toEqual([SOURCE, 'com.acme:util:1.0'])
})

test('sources are found by the library’s path in the cache of Gradle', () => {
  const folder = 'gradle/caches/modules-2/files-2.1/com.acme/util/1.0'
  const jar = archive(`${folder}/ffff/util-1.0.jar`, {})
  archive(`${folder}/0000/util-1.0-sources.jar`, { 'acme/Util.java': SOURCE })
  expect(findText(question(jar)).found?.text).toBe(SOURCE)
})

test('the library may be inside another archive', () => {
  const inner = zipOf(
    Object.entries(properties()).map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
  )
  const jar = join(home, 'app.jar')
  writeFileSync(jar, zipOf([{ name: 'BOOT-INF/lib/util-1.0.jar', bytes: inner, stored: true }]))
  archive('m2/repository/com/acme/util/1.0/util-1.0-sources.jar', { 'acme/Util.java': SOURCE })
  expect(findText(question(`${jar}!/BOOT-INF/lib/util-1.0.jar`)).found?.text).toBe(SOURCE)
})

test('coordinates that point outside of a repository are ignored', () => {
  archive('secret-1.0-sources.jar', { 'acme/Util.java': SOURCE })
  for (const version of ['../../../..', '..', 'a/b', '']) {
    const text = coordinates.replace('version=1.0', `version=${version}`)
    const jar = archive(`lib/util-${version.length}.jar`, properties(text))
    expect(findText(question(jar))).toEqual({ found: undefined, mavenCoordinates: null })
  }
})

test('a source file’s name in a class file is never a path', () => {
  const jar = archive('lib/util-1.0.jar', {})
  archive('lib/util-1.0-sources.jar', { 'acme/Util.java': SOURCE })
  const { found } = findText(question(jar, { sourceFile: '../../etc/passwd' }))
  expect(found?.filePath).toMatch(/acme\/Util.java$/)
})

test('a Kotlin file is found by its name and package in any folder', () => {
  const jar = archive('lib/util-1.0.jar', {})
  archive('lib/util-1.0-sources.jar', {
    'commonMain/other/Util.kt': 'package other\n',
    'jvmMain/kotlin/odd/Util.kt': '@file:JvmName("U")\npackage acme\n',
  })
  const own = { outermost: 'acme/U', sourceFile: 'Util.kt' }
  expect(findText(question(jar, own)).found).toMatchObject({
    language: 'kotlin',
    filePath: expect.stringMatching('odd'),
  })
  expect(findText(question(jar, { ...own, language: 'java' })).found).toBeUndefined()
  expect(findText(question(jar, { ...own, outermost: 'none/U' })).found).toBeUndefined()
})

test('text that is not UTF-8 is shown as Latin-1', () => {
  const jar = archive('lib/util-1.0.jar', {})
  const bytes = Buffer.from('package acme; // \xe9', 'latin1')
  writeFileSync(join(home, 'lib/util-1.0-sources.jar'), zipOf([{ name: 'acme/Util.java', bytes }]))
  expect(findText(question(jar)).found?.text).toBe('package acme; // é')
})
