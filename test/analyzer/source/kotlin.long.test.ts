import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { jdkHome } from '../../support/analyzer/jdk.ts'
import { mavenJar } from '../../support/analyzer/maven-jar.ts'
import { tempDir } from '../../support/temp-dir.ts'

const KOTLIN = 'org.jetbrains.kotlin:kotlin-stdlib:2.0.21'
const GUAVA = 'com.google.guava:guava:33.0.0-jre'

async function started(jars: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const root = projectOf('kinds')
  mkdirSync(join(root, 'lib'))
  for (const jar of jars) copyFileSync(jar, join(root, 'lib', basename(jar)))
  const analyzer = await startAnalyzer(root, { ANALYZER_CACHE_DIR: tempDir(), ...environment })
  onTestFinished(() => analyzer.stop())
  const show = async (fqn: string, parameters = {}) =>
    (await analyzer.get(`/source/${encodeURIComponent(fqn)}`, parameters)).source
  return { analyzer, show }
}

describe('classes that Kotlin has compiled', () => {
  test('are shown in Kotlin from their source archive, whose folders are not packages, and in Java on request', async () => {
    const { show, analyzer } = await started([mavenJar(KOTLIN), mavenJar(`${KOTLIN}:jar:sources`)])
    const pair = await show('kotlin.Pair')
    expect(pair).toMatchObject({ language: 'kotlin', sourceOrigin: 'SOURCE_JAR', isDecompiled: false })
    expect(pair.content).toContain('public data class Pair<out A, out B>(')
    expect(pair.filePath).toMatch(/!\/.*\/Tuples\.kt$/)
    const java = await show('kotlin.Pair', { lang: 'java' })
    expect(java).toMatchObject({ language: 'java', sourceOrigin: 'DECOMPILED' })
    expect(java.content).toContain('public final class Pair<A, B> implements Serializable {')
    const { methodSource } = await analyzer.get('/source/kotlin.Pair/method/component1')
    expect(methodSource).toMatchObject({
      sourceOrigin: 'DECOMPILED',
      signature: 'public final A component1()',
    })
  })

  test('are decompiled to Java without one', async () => {
    const { show } = await started([mavenJar(KOTLIN)])
    expect(await show('kotlin.text.Regex')).toMatchObject({ language: 'java', sourceOrigin: 'DECOMPILED' })
  })
})

test('a library has its coordinates, and is decompiled without its sources', async () => {
  const { show } = await started([mavenJar(GUAVA)])
  const { mavenCoordinates, content } = await show('com.google.common.collect.ImmutableList')
  expect(mavenCoordinates).toBe(GUAVA)
  expect(content).toContain('public abstract class ImmutableList<E>')
})

test('Vineflower on a JVM returns the text of its port, and caches it separately', async () => {
  const jar = mavenJar('org.vineflower:vineflower:1.11.1')
  const port = await started([mavenJar(GUAVA)])
  const real = await started([mavenJar(GUAVA)], {
    ANALYZER_SOURCE__VINEFLOWER: jar,
    ANALYZER_JVM_HOME: jdkHome(),
  })
  for (const fqn of ['com.google.common.base.Splitter', 'com.google.common.collect.Maps', 'kinds.Shape']) {
    const [ours, theirs] = [await port.show(fqn), await real.show(fqn)]
    expect(theirs).toMatchObject({ sourceOrigin: 'DECOMPILED', language: 'java' })
    expect(theirs.content.length / ours.content.length, fqn).toBeGreaterThan(0.9)
    expect(theirs.content.length / ours.content.length, fqn).toBeLessThan(1.1)
  }
  const lambda = await real.analyzer.get('/source/kinds.Outer/method/lambda')
  expect(lambda.methodSource.content).toContain('return () -> 4;')
})

test('an invalid Vineflower jar is reported', async () => {
  const { analyzer } = await started([], {
    ANALYZER_SOURCE__VINEFLOWER: mavenJar(GUAVA),
    ANALYZER_JVM_HOME: jdkHome(),
  })
  const { status, body } = await analyzer.ask('/source/kinds.Point')
  expect([status, body.message]).toEqual([
    500,
    expect.stringMatching(/Vineflower exited with status 1: .*[Mm]anifest/),
  ])
  expect(readFileSync(join(analyzer.root, 'pom.xml'), 'utf8')).toBe('<project/>')
})
