import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { jdkClasses, readBuild } from '../../../src/analyzer/diff/build.ts'
import { diffBuilds } from '../../../src/analyzer/diff/diff-builds.ts'
import { mavenJar } from '../../support/analyzer/maven-jar.ts'
import { tempDir } from '../../support/temp-dir.ts'

const japicmp = 'com.github.siom79.japicmp:japicmp:0.23.1:jar:jar-with-dependencies'

/** The classes that japicmp calls incompatible. */
function brokenByJapicmp(old: string, now: string): readonly string[] {
  const file = join(tempDir(), 'report.xml')
  const flags = ['-m', '--ignore-missing-classes', '-a', 'protected', '-x', file]
  execFileSync('java', ['-jar', mavenJar(japicmp), '-o', old, '-n', now, ...flags], { stdio: 'ignore' })
  const classes = readFileSync(file, 'utf8').matchAll(
    /<class binaryCompatible="false"[^>]* fullyQualifiedName="([^"]+)"/g,
  )
  return [...classes].map(([, name = '']) => name)
}

/** The classes of which we and japicmp do not say the same. */
async function differences(artifact: string, [before, after]: readonly [string, string]) {
  const [old, now] = [mavenJar(`${artifact}:${before}`), mavenJar(`${artifact}:${after}`)]
  const { find, release } = jdkClasses(undefined, process.env)
  const { changes } = diffBuilds(
    await readBuild(old, find, release),
    await readBuild(now, find, release),
    false,
  )
  const ours = new Set(changes.filter(({ compatible }) => !compatible).map(({ classFqn }) => classFqn))
  const theirs = new Set(brokenByJapicmp(old, now))
  return {
    agreed: [...ours].filter((name) => theirs.has(name)).length,
    onlyOurs: [...ours].filter((name) => !theirs.has(name)).toSorted(),
    onlyTheirs: [...theirs].filter((name) => !ours.has(name)).toSorted(),
  }
}

it('matches japicmp for commons-lang3', { timeout: 300_000 }, async () => {
  expect(await differences('org.apache.commons:commons-lang3', ['3.9', '3.14.0'])).toEqual({
    agreed: 0,
    onlyOurs: [],
    onlyTheirs: [],
  })
})

it('matches japicmp for Guava, with explained exceptions', { timeout: 300_000 }, async () => {
  const { agreed, onlyOurs, onlyTheirs } = await differences('com.google.guava:guava', ['20.0', '33.0.0-jre'])
  expect(agreed).toBe(38)
  expect(onlyOurs).toEqual([
    // It has lost Graph, which ValueGraph no longer extends; japicmp reports that for ValueGraph alone.
    'com.google.common.graph.MutableValueGraph',
    // callWithTimeout(Callable, long, TimeUnit, boolean) was removed (javap shows it); japicmp reports that only for the interface.
    'com.google.common.util.concurrent.FakeTimeLimiter',
  ])
  expect(onlyTheirs).toEqual([
    // An enum whose constants have lost their bodies is marked final; nobody could extend it before.
    'com.google.common.collect.BoundType',
    // Methods of classes whose constructors are their package's own have become final; nobody could override them.
    'com.google.common.collect.ImmutableBiMap',
    'com.google.common.collect.ImmutableListMultimap',
    'com.google.common.collect.ImmutableMultimap',
    'com.google.common.collect.ImmutableRangeMap',
    'com.google.common.collect.ImmutableSetMultimap',
    // Public classes inside one that its package alone can name.
    'com.google.common.collect.SortedLists$KeyAbsentBehavior',
    'com.google.common.collect.SortedLists$KeyPresentBehavior',
    'com.google.common.hash.AbstractStreamingHashFunction$AbstractStreamingHasher',
    // As BoundType.
    'com.google.common.util.concurrent.Service$State',
  ])
})
