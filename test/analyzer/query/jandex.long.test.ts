import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { smallJdk } from '../../support/analyzer/jdk.ts'

const JARS = {
  jandex: 'io.smallrye:jandex:3.2.7',
  'spring-core': 'org.springframework:spring-core:4.3.30.RELEASE',
  'commons-io': 'commons-io:commons-io:2.11.0',
}

const folder = mkdtempSync(join(tmpdir(), 'workspace-peers-'))
const root = projectOf('shop')
const all = { includeLibraries: true, size: 10_000 }
let analyzer: TestAnalyzer
let jandex: readonly string[]

const say = (program: string, argv: readonly string[]): string =>
  execFileSync(program, argv, { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'ignore'] })

const jarOf = (name: keyof typeof JARS): string => join(folder, `${name}-${JARS[name].split(':')[2]}.jar`)

beforeAll(async () => {
  for (const artifact of Object.values(JARS))
    say('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
  const base = join(folder, 'base')
  say('jimage', ['extract', '--dir', base, join(smallJdk(), 'lib/modules')])
  mkdirSync(join(root, 'lib'))
  for (const name of ['spring-core', 'commons-io'] as const)
    copyFileSync(jarOf(name), join(root, 'lib', `${name}.jar`))
  const places = [
    join(root, 'target/classes'),
    jarOf('spring-core'),
    jarOf('commons-io'),
    join(base, 'java.base'),
  ]
  const program = join(packageRoot, 'test/fixtures/peers/JandexFacts.java')
  jandex = say('java', ['-cp', jarOf('jandex'), program, ...places])
    .trim()
    .split('\n')
  analyzer = await startAnalyzer(root)
}, 300_000)
afterAll(async () => {
  await analyzer.stop()
  rmSync(folder, { recursive: true })
})

/** Second words of those lines whose first words are `words`, by the word after them. */
function grouped(words: string): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>()
  for (const line of jandex) {
    const [first, key = '', ...rest] = line.split(' ')
    if (first !== words) continue
    const group = groups.get(key) ?? new Set()
    groups.set(key, group.add(rest.join(' ')))
  }
  return groups
}

const missingFrom = (those: ReadonlySet<string>, of: Iterable<string>): readonly string[] =>
  [...of].filter((each) => !those.has(each))

test('implementations match those of Jandex', async () => {
  const groups = [...grouped('below')].filter(([type]) => type !== 'java.lang.Object')
  expect(groups.length).toBeGreaterThan(1_000)
  const differences: object[] = []
  for (const [type, theirs] of groups) {
    const answer = await analyzer.get(`/implementations/${encodeURIComponent(type)}`, {
      includeLibraries: true,
    })
    const ours = new Set<string>(
      [...answer.directImplementations, ...answer.indirectImplementations].map(
        ({ fqn }: { fqn: string }) => fqn,
      ),
    )
    const [less, more] = [missingFrom(ours, theirs), missingFrom(theirs, ours)]
    if (less.length + more.length > 0) differences.push({ type, less, more })
  }
  expect(differences).toEqual([])
}, 300_000)

test('annotation usages match those of Jandex', async () => {
  const groups = [...grouped('annotation')]
  const annotations = new Set(groups.map(([type]) => type))
  // What other annotations carry is found through them too, which Jandex does not do.
  const isCarried = (places: ReadonlySet<string>) =>
    [...places].some((place) => annotations.has(place.replace('CLASS ', '')))
  const compared = groups.filter(([, places]) => !isCarried(places))
  expect(compared.length).toBeGreaterThan(20)
  // Jandex leaves out of an inner class's constructor what the compiler put into its descriptor.
  const plain = (place: string): string => place.replace(/(\$\S+ <init>).*/, '$1')
  const differences: object[] = []
  for (const [type, places] of compared) {
    const theirs = new Set([...places].map(plain))
    const { usages } = await analyzer.get(`/annotations/usages/${encodeURIComponent(type)}`, all)
    const ours = new Set<string>(
      usages.map(({ target, classFqn, method, descriptor, field }: Record<string, string>) =>
        plain(
          [target, classFqn, method === undefined ? field : method + descriptor].filter(Boolean).join(' '),
        ),
      ),
    )
    const [less, more] = [missingFrom(ours, theirs), missingFrom(theirs, ours)]
    if (less.length + more.length > 0) differences.push({ type, less, more })
  }
  expect(differences).toEqual([])
}, 300_000)

/** Lambdas have the erased type of their interface's method as a constant of this kind, which jdeps does not look into. */
function isInMethodType(type: string, other: string): boolean {
  const constants = say('javap', ['-v', '-p', '-cp', jarOf('commons-io'), type])
    .split('\n')
    .filter((line) => / = MethodType /.test(line))
  return constants.some((line) => line.includes(`L${other.replaceAll('.', '/')};`))
}

test('dependencies match those of jdeps', async () => {
  const made = grouped('made')
  /** Compiler-made classes count for those around them. */
  const written = (name: string): string => [...(made.get(name) ?? [])][0] ?? name
  const needs = new Map<string, Set<string>>()
  const argv = ['--multi-release', 'base', '-verbose:class', '-filter:none', jarOf('commons-io')]
  for (const line of say('jdeps', argv).split('\n')) {
    const [, own, other] = /^ {3}(\S+)\s+-> (\S+)/.exec(line) ?? []
    if (own === undefined || other === undefined) continue
    const [user, used] = [written(own), written(other)]
    if (user !== used) needs.set(user, (needs.get(user) ?? new Set()).add(used))
  }
  expect(needs.size).toBeGreaterThan(150)
  const differences: object[] = []
  for (const [type, theirs] of needs) {
    const { outgoing } = await analyzer.get(`/dependencies/${encodeURIComponent(type)}`, {
      includeLibraries: true,
    })
    const ours = new Set<string>(outgoing.map(({ classFqn }: { classFqn: string }) => classFqn))
    const less = missingFrom(ours, theirs)
    const more = missingFrom(theirs, ours).filter((each) => !isInMethodType(type, each))
    if (less.length + more.length > 0) differences.push({ type, less, more })
  }
  expect(differences).toEqual([])
}, 300_000)
