import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkRules } from '../../../support/analyzer/check-rules.ts'
import { startAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { Random } from '../../../support/differential/random.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { SEED } from '../../../support/seed.ts'

const PACKAGES = ['a', 'a.x', 'b', 'b.x.y', 'c']
const CLASSES = 30
const EDGES = 60
const ROUNDS = 30

interface Edge {
  readonly from: string
  readonly to: string
}

test('rules about generated classes have the violations of a brute-force search', async () => {
  const random = new Random(SEED)
  const classes = Array.from({ length: CLASSES }, (_, at) => `${random.pick(PACKAGES)}.C${at}`)
  const edges = distinct(
    Array.from({ length: EDGES }, () => ({ from: random.pick(classes), to: random.pick(classes) })),
  ).filter(({ from, to }) => from !== to)
  const analyzer = await startAnalyzer(compiledProject(classes, edges, random))
  onTestFinished(() => analyzer.stop())
  const check = async (rule: object): Promise<readonly string[]> => {
    const { violations } = await checkRules(analyzer, [{ id: 'r', reason: 'b', ...rule }])
    const found = violations.filter(({ target }) => !target.startsWith('java.'))
    return [...new Set(found.map(({ classFqn, target }) => `${classFqn} ${target}`))].toSorted()
  }
  const pairs = (found: readonly Edge[]): readonly string[] =>
    found.map(({ from, to }) => `${from} ${to}`).toSorted()
  let count = 0
  for (let round = 0; round < ROUNDS; round++) {
    const [own, other, third] = [randomPattern(random), randomPattern(random), randomPattern(random)]
    const ignored = { from: randomPattern(random), to: randomPattern(random) }
    const ignore = [{ from: ignored.from.pattern, to: ignored.to.pattern }]
    const kept = edges.filter(({ from, to }) => !(ignored.from.has(from) && ignored.to.has(to)))
    const [classesOf, used] = [own.pattern, other.pattern]
    const expected: readonly (readonly [rule: object, edges: readonly Edge[]])[] = [
      [
        { classes: classesOf, mustNotUse: used, ignore },
        kept.filter(({ from, to }) => own.has(from) && other.has(to)),
      ],
      [
        { classes: classesOf, mayOnlyUse: [used, 'java..'], ignore },
        kept.filter(({ from, to }) => own.has(from) && !other.has(to)),
      ],
      [
        { classes: classesOf, mayOnlyBeUsedBy: used },
        edges.filter(({ from, to }) => own.has(to) && !own.has(from) && !other.has(from)),
      ],
      [
        {
          layers: {
            x: { classes: classesOf, mayUse: ['z'] },
            y: { classes: used, mayOnlyBeUsedBy: ['x'] },
            z: { classes: third.pattern },
          },
          ignore,
        },
        kept.filter(({ from, to }) => isForbidden([own, other, third], from, to)),
      ],
    ]
    for (const [rule, found] of expected) {
      expect(await check(rule), JSON.stringify(rule)).toEqual(pairs(found))
      count += found.length
    }
    const cyclic = await checkRules(analyzer, [
      { id: 'r', reason: 'b', classes: classesOf, noCycles: 'package', ignore },
      { id: 's', reason: 'b', classes: classesOf, noCycles: '(*)..', ignore },
      { id: 't', reason: 'b', classes: classesOf, noCycles: 'class', ignore },
    ])
    const within = kept.filter(({ from, to }) => own.has(from) && own.has(to))
    const slices = [packageOf, (name: string) => name.split('.')[0] ?? '', (name: string) => name]
    expect(cyclic.violations.map(({ key }) => key).toSorted()).toEqual(
      slices
        .flatMap((sliceOf, at) => cyclesIn(within, sliceOf).map((cycle) => `${['r', 's', 't'][at]} ${cycle}`))
        .toSorted(),
    )
    count += cyclic.violations.length
  }
  // Otherwise the rules show nothing.
  expect(count).toBeGreaterThan(ROUNDS)
})

interface Pattern {
  readonly pattern: string
  readonly has: (name: string) => boolean
}

function randomPattern(random: Random): Pattern {
  const digit = String(random.below(10))
  return random.pick<Pattern>([
    { pattern: 'a..', has: (name) => name.startsWith('a.') },
    { pattern: 'b.*', has: (name) => packageOf(name) === 'b' },
    { pattern: '..x..', has: (name) => packageOf(name).split('.').includes('x') },
    { pattern: `..C*${digit}`, has: (name) => name.endsWith(digit) },
    { pattern: '..', has: () => true },
  ])
}

/** The layers x and y and z of the test. */
function isForbidden([x, y, z]: readonly Pattern[], from: string, to: string): boolean {
  const layersOf = (name: string) => [x, y, z].flatMap((layer, at) => (layer?.has(name) === true ? [at] : []))
  const [above, below] = [layersOf(from), layersOf(to)]
  if (below.length === 0 || above.some((layer) => below.includes(layer))) return false
  if (above.includes(0) && !below.includes(2)) return true
  return below.includes(1) && !above.includes(0)
}

/** Returns the dependencies between slices whose target depends on the source, by transitive closure. */
function cyclesIn(edges: readonly Edge[], sliceOf: (name: string) => string): readonly string[] {
  const between = new Set(
    edges
      .map(({ from, to }) => [sliceOf(from), sliceOf(to)])
      .flatMap(([from, to]) => (from === to ? [] : [`${from} ${to}`])),
  )
  const closure = new Set(between)
  for (let before = -1; before !== closure.size;) {
    before = closure.size
    for (const one of closure)
      for (const two of between)
        if (one.split(' ')[1] === two.split(' ')[0]) closure.add(`${one.split(' ')[0]} ${two.split(' ')[1]}`)
  }
  return [...between]
    .map((edge) => edge.split(' '))
    .filter(([from, to]) => closure.has(`${to} ${from}`))
    .map(([from, to]) => `${from} -> ${to}`)
}

function packageOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'))
}

function distinct(edges: readonly Edge[]): readonly Edge[] {
  return [...new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge])).values()]
}

/** Compiles classes that use each other in random ways. */
function compiledProject(classes: readonly string[], edges: readonly Edge[], random: Random): string {
  const root = tempDir()
  writeFileSync(join(root, 'pom.xml'), '<project/>')
  const files = classes.map((name) => {
    const uses = edges
      .filter(({ from }) => from === name)
      .map(({ to }, at) =>
        random.pick([
          `${to} f${at};`,
          `Object f${at} = ${to}.class;`,
          `void m${at}(java.util.List<${to}> given) {}`,
          `Object m${at}() { return new ${to}(); }`,
          `boolean m${at}(Object given) { return given instanceof ${to}; }`,
          `Runnable m${at} = () -> new ${to}();`,
        ]),
      )
    const file = join(root, 'src', `${name.replaceAll('.', '/')}.java`)
    mkdirSync(dirname(file), { recursive: true })
    const simpleName = name.slice(name.lastIndexOf('.') + 1)
    writeFileSync(file, `package ${packageOf(name)};\npublic class ${simpleName} {\n${uses.join('\n')}\n}\n`)
    return file
  })
  execFileSync('javac', ['-d', join(root, 'target/classes'), ...files])
  return root
}
