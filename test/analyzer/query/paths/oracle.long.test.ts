import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { classFilesBelow, compiled } from '../../../support/analyzer/javac.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { PrintedGraph } from '../../../support/analyzer/printed-graph.ts'
import { reachedIn } from '../../../support/analyzer/printed-reach.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

const PAIRS = 100
/** Complete enumeration is feasible to this depth. */
const DEPTH = 6
const LIMIT = 100
const ROOTS = 30

test.each(['paths', 'shop', 'demo', 'kinds'])(
  'paths between methods of %s, and what they reach, are those that javap shows',
  async (fixture) => {
    const folder = compiled(fixture)
    const analyzer = await startAnalyzer(projectOf(fixture))
    onTestFinished(() => analyzer.stop())
    const graph = new PrintedGraph([...classFilesBelow(folder).keys()].map((file) => join(folder, file)))
    const names = graph.own.flatMap((owner) =>
      graph
        .methodsOf(owner)
        .filter((method) => graph.isWritten(method))
        .map((method) => ({ owner, name: (method.split('#')[1] ?? '').split(' ')[0] ?? '' })),
    )
    const random = new Random(SEED)
    let found = 0
    for (let round = 0; round < PAIRS; round++) {
      const from = random.pick(names)
      // Random pairs rarely have a path: half of the targets are reached from the start.
      const to =
        round % 2 === 0 ? random.pick(names) : (reachedFrom(graph, from, random) ?? random.pick(names))
      const sources = writtenOf(graph, from)
      const targets = writtenOf(graph, to)
      const expected = allPaths(graph, sources, targets)
      const answer = await analyzer.get('/path', {
        from: written(from),
        to: written(to),
        limit: LIMIT,
        maxDepth: DEPTH,
      })
      const pair = `${written(from)} → ${written(to)}`
      const paths: string[][] = answer.paths.map(({ steps }: any) => methodsIn(steps))
      expect(
        paths.map((path) => path.length),
        pair,
      ).toEqual(expected.lengths.slice(0, LIMIT))
      for (const path of paths) expect(expected.paths, pair).toContain(path.join(' → '))
      expect(new Set(paths.map(String)).size, pair).toBe(paths.length)
      found += Number(paths.length > 0)
    }
    // Otherwise the pairs show nothing.
    expect(found).toBeGreaterThan(PAIRS / 50)
    await compareReached(analyzer, graph, random)
  },
)

/** Compares the methods reached from random roots. */
async function compareReached(analyzer: TestAnalyzer, graph: PrintedGraph, random: Random): Promise<void> {
  const own = new Set(graph.own)
  const all = graph.own.flatMap((owner) => graph.methodsOf(owner))
  const nameOf = (method: string) => dotted(method.split(' ')[0] ?? '')
  // A name also means overloads that are inherited from the JDK.
  const isOwn = (method: string): boolean => {
    const [owner = '', name = ''] = (method.split(' ')[0] ?? '').split('#')
    return [...graph.named(owner, name)].every((each) => own.has(each.split('#')[0] ?? ''))
  }
  const namesOf = (methods: Iterable<string>) => {
    const found = [...methods].filter((method) => isOwn(method) && graph.isWritten(method))
    return [...new Set(found.map(nameOf))].toSorted()
  }
  const names = namesOf(all)
  const sizes = new Set<number>()
  for (let round = 0; round < ROOTS; round++) {
    const root = random.pick(names)
    const start = new Set(all.filter((method) => nameOf(method) === root))
    for (const analysis of ['rta', 'cha']) {
      const { targets } = await analyzer.get('/reach', { from: root, to: names.join(','), analysis })
      const reached = targets.filter(({ status }: any) => status === 'reachable')
      const expected = reachedIn(graph, start, { isCha: analysis === 'cha' })
      const about = `${analysis} ${root}`
      expect(reached.map(({ target }: any) => target).toSorted(), about).toEqual(namesOf(expected))
      const reachedNames = new Set([...expected].map(nameOf))
      for (const { target, steps } of reached)
        for (const [at, step] of steps.entries()) {
          const { calleeFqn, calleeName } = steps[at - 1] ?? {}
          const caller = `${step.classFqn}#${step.methodName}`
          if (at > 0) expect(caller, target).toBe(`${calleeFqn}#${calleeName}`)
          expect(reachedNames, target).toContain(caller)
        }
      sizes.add(reached.length)
    }
  }
  // Otherwise the roots show nothing.
  expect(sizes.size).toBeGreaterThan(2)
}

/** Returns the written methods that a name means: a bridge stands for those that it calls. */
function writtenOf(graph: PrintedGraph, { owner, name }: Named): ReadonlySet<string> {
  return new Set([...graph.named(owner, name)].filter((method) => graph.isWritten(method)))
}

interface Named {
  readonly owner: string
  readonly name: string
}

function written({ owner, name }: Named): string {
  return `${owner.replaceAll('/', '.')}#${name}`
}

function methodsIn(steps: readonly any[]): string[] {
  const [first] = steps
  const start = `${first.classFqn}#${first.methodName} ${first.methodDescriptor}`
  const callees = steps.map(
    ({ calleeFqn, calleeName, descriptor }) => `${calleeFqn}#${calleeName} ${descriptor}`,
  )
  return [start, ...callees]
}

/** Returns the end of a random walk. */
function reachedFrom(graph: PrintedGraph, from: Named, random: Random): Named | undefined {
  let [method] = graph.named(from.owner, from.name)
  for (let steps = 1 + random.below(4); steps > 0 && method !== undefined; steps--) {
    const callees = [...graph.writtenCallees(method)].filter((each) =>
      graph.own.includes(each.split('#')[0] ?? ''),
    )
    if (callees.length === 0) break
    method = random.pick(callees)
  }
  const [owner = '', signature = ''] = method?.split('#') ?? []
  return method === undefined ? undefined : { owner, name: signature.split(' ')[0] ?? '' }
}

/** Returns every path of at most DEPTH calls by depth-first search. */
function allPaths(graph: PrintedGraph, sources: ReadonlySet<string>, targets: ReadonlySet<string>) {
  const paths: string[][] = []
  const extend = (path: readonly string[]): void => {
    if (path.length > DEPTH) return
    for (const callee of graph.writtenCallees(path.at(-1) ?? '')) {
      if (targets.has(callee)) paths.push([...path, callee])
      else if (!sources.has(callee) && !path.includes(callee)) extend([...path, callee])
    }
  }
  for (const source of sources) extend([source])
  return {
    lengths: paths.map((path) => path.length).toSorted((a, b) => a - b),
    paths: paths.map((path) => path.map((method) => method.replace(/^[^#]+/, dotted)).join(' → ')),
  }
}

function dotted(name: string): string {
  return name.replaceAll('/', '.')
}
