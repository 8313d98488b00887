import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
// Before the server, which changes where downloads are cached.
import { mavenJar } from '../../../support/analyzer/maven-jar.ts'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import type { Violation } from '../../../../src/analyzer/query/rules/violation.ts'
import { startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { checkRules } from '../../../support/analyzer/check-rules.ts'
import { jdeps } from '../../../support/analyzer/jdeps.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const GOOGLE = 'com.google.common'
const archUnit = [
  mavenJar('com.tngtech.archunit:archunit:1.3.0'),
  mavenJar('org.slf4j:slf4j-api:2.0.9'),
  mavenJar('org.slf4j:slf4j-nop:2.0.9'),
].join(':')

/** Rules of ours, each with the one that our Java program builds with ArchUnit. */
const DEPENDENCY_RULES: readonly (readonly [theirs: string, ours: object])[] = [
  [
    `mustNotUse|${GOOGLE}.collect..|${GOOGLE}.base..`,
    { classes: `${GOOGLE}.collect..`, mustNotUse: `${GOOGLE}.base..` },
  ],
  [
    `mayOnlyUse|${GOOGLE}.base..|java..`,
    { classes: `${GOOGLE}.base..`, mayOnlyUse: [`${GOOGLE}.base..`, 'java..'] },
  ],
  [
    `mayOnlyUse|${GOOGLE}.graph..|${GOOGLE}.collect..`,
    { classes: `${GOOGLE}.graph..`, mayOnlyUse: [`${GOOGLE}.graph..`, `${GOOGLE}.collect..`] },
  ],
  [
    `mayOnlyBeUsedBy|${GOOGLE}.primitives..|${GOOGLE}.math..`,
    { classes: `${GOOGLE}.primitives..`, mayOnlyBeUsedBy: `${GOOGLE}.math..` },
  ],
  [
    `layers|${GOOGLE}.collect..|${GOOGLE}.base..|..math..`,
    {
      layers: {
        a: { classes: `${GOOGLE}.collect..`, mayUse: ['b'] },
        b: { classes: `${GOOGLE}.base..`, mayUse: ['c'] },
        c: { classes: '..math..', mayUse: [] },
      },
    },
  ],
]
const OTHER_RULES: readonly (readonly [theirs: string, ours: object])[] = [
  [
    `mustNotCall|${GOOGLE}..|java.lang.System|arraycopy`,
    { classes: `${GOOGLE}..`, mustNotCall: 'java.lang.System#arraycopy' },
  ],
  [
    `mustNotCall|${GOOGLE}..|${GOOGLE}.base.Preconditions|checkArgument`,
    { classes: `${GOOGLE}..`, mustNotCall: `${GOOGLE}.base.Preconditions#checkArgument` },
  ],
  [`mustBeNamed|${GOOGLE}.cache..|Cache`, { classes: `${GOOGLE}.cache..`, mustBeNamed: '*Cache' }],
  [
    `mustResideIn|java.lang.Throwable|${GOOGLE}.util..`,
    { classes: { subtypesOf: 'java.lang.Throwable' }, mustResideIn: `${GOOGLE}.util..` },
  ],
  [
    `mustBeSubtypeOf|${GOOGLE}.hash..|java.io.Serializable`,
    { classes: `${GOOGLE}.hash..`, mustBeSubtypeOf: 'java.io.Serializable' },
  ],
  [`noCycles|${GOOGLE}.(*)..`, { noCycles: `${GOOGLE}.(*)..` }],
  ['noCycles|com.google.(*).(*)..', { noCycles: 'com.google.(*).(*)..' }],
]

test('rules have the violations that ArchUnit finds in Guava', { timeout: 300_000 }, async () => {
  const { analyzer, classes } = await projectOfJar(mavenJar('com.google.guava:guava:33.0.0-jre'))
  const theirs = byArchUnit(
    classes,
    [...DEPENDENCY_RULES, ...OTHER_RULES].map(([rule]) => rule),
  )
  const byJdeps = jdeps(classes)
  for (const [at, [name, rule]] of DEPENDENCY_RULES.entries()) {
    const ours = new Set(
      (await violationsOf(analyzer, rule)).map(({ classFqn, target }) => `${classFqn} ${target}`),
    )
    // ArchUnit also has arrays of primitives.
    const found = (theirs[at] ?? []).filter((pair) => !isInside(pair) && !/ [a-z]+$/.test(pair))
    expect(found.length, name).toBeGreaterThan(20)
    expect(
      found.filter((pair) => !ours.has(pair)),
      name,
    ).toEqual([])
    // ArchUnit has no types that only the signatures of called methods mention. jdeps has no annotations of
    // CLASS retention.
    const more = [...ours].filter((pair) => !found.includes(pair))
    const unexplained = more.filter((pair) => {
      const [from = '', to = ''] = pair.split(' ')
      return byJdeps.get(from)?.has(to) !== true && !/annotat|checker|concurrent\.(?:Lazy|Guarded)/.test(to)
    })
    expect(unexplained, name).toEqual([])
  }
  for (const [i, [name, rule]] of OTHER_RULES.entries()) {
    const found = (theirs[DEPENDENCY_RULES.length + i] ?? []).filter((each) => !each.endsWith('package-info'))
    const ours = await violationsOf(analyzer, rule)
    expect(found.length, name).toBeGreaterThan(0)
    if (name.startsWith('noCycles')) expect(String(ours.length > 0), name).toBe(found[0])
    else {
      const isCall = name.startsWith('mustNotCall')
      const lines = ours.map(({ classFqn, target }) =>
        isCall ? `${classFqn} ${target.split('#')[0]}` : classFqn,
      )
      expect([...new Set(lines)].toSorted(), name).toEqual(found.toSorted())
    }
  }
})

async function violationsOf(analyzer: TestAnalyzer, rule: object): Promise<readonly Violation[]> {
  return (await checkRules(analyzer, [{ id: 'a', reason: 'b', ...rule }])).violations
}

/** Returns what our program prints for each rule. */
function byArchUnit(classes: string, rules: readonly string[]): readonly (readonly string[])[] {
  const folder = tempDir()
  const source = join(packageRoot, 'test/support/analyzer/archunit/Violations.java')
  execFileSync('javac', ['-d', folder, '-cp', archUnit, source])
  const argv = ['-cp', `${folder}:${archUnit}`, 'Violations', classes, ...rules]
  const lines = execFileSync('java', argv, { encoding: 'utf8', maxBuffer: 2 ** 28 })
    .trim()
    .split('\n')
  return rules.map((_, at) =>
    lines.filter((line) => line.startsWith(`${at} `)).map((line) => line.slice(String(at).length + 1)),
  )
}

/** Whether a dependency is inside a top-level class. */
function isInside(pair: string): boolean {
  const [from, to] = pair.split(' ').map((name) => name.split('$')[0])
  return from === to
}

async function projectOfJar(jar: string) {
  const root = tempDir()
  const classes = join(root, 'target/classes')
  mkdirSync(classes, { recursive: true })
  writeFileSync(join(root, 'pom.xml'), '<project/>')
  execFileSync('unzip', ['-q', jar, '-d', classes])
  const analyzer = await startAnalyzer(root)
  onTestFinished(() => analyzer.stop())
  return { analyzer, classes }
}
