import { expect, test } from 'vitest'
import { ImpactSearch } from '../../../../src/analyzer/query/impact/impact-search.ts'
import { ReverseCalls } from '../../../../src/analyzer/query/impact/reverse-calls.ts'
import { finish, RandomProgram } from '../../../support/analyzer/random-program.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

const PROGRAMS = 400

function resultOf<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** Returns the classes of which a method creates objects, itself or by reflection. */
function createdBy(program: RandomProgram, method: number): readonly number[] {
  const { created, reflected } = program.usesOf(method)
  return [...created, ...reflected]
}

/** Returns the methods that each method reaches in one step, by the definition of the call graph. */
function edges(program: RandomProgram, roots: readonly number[], isCha: boolean) {
  const methods = Array.from({ length: program.methodCount }, (_, method) => method)
  const created = new Set([...roots, ...methods.flatMap((method) => createdBy(program, method))])
  return methods.map((method) => {
    const uses = program.usesOf(method)
    const found = new Set<number>()
    for (const site of uses.sites) {
      found.add(program.targetOf(site))
      for (const classId of program.parents.keys())
        if ((isCha || created.has(classId)) && program.supertypesOf(classId).has(program.receiverOf(site)))
          found.add(program.implementationOf(site, classId))
    }
    for (const classId of createdBy(program, method))
      for (const signature of program.offered) found.add(program.resolve(classId, signature))
    for (const classId of [program.classOf(method), ...createdBy(program, method), ...uses.initialized])
      for (const each of program.supertypesOf(classId)) found.add(program.initializerOf(each))
    return [...found].filter((each) => each >= 0)
  })
}

/** Returns the shortest distance of each method to a seed, by relaxing all edges until nothing changes. */
function distances(
  steps: readonly (readonly number[])[],
  seeds: readonly { method: number; depth: number }[],
) {
  const found = steps.map(() => Infinity)
  for (const { method, depth } of seeds) found[method] = Math.min(found[method] ?? Infinity, depth)
  for (let isChanged = true; isChanged;) {
    isChanged = false
    for (const [method, targets] of steps.entries()) {
      const best = Math.min(...targets.map((target) => (found[target] ?? Infinity) + 1))
      if (best >= (found[method] ?? Infinity)) continue
      found[method] = best
      isChanged = true
    }
  }
  return found
}

test.each(['rta', 'cha'] as const)(
  'random programs are affected by %s where the definition leads, by shortest paths',
  (analysis) => {
    const random = new Random(SEED)
    let most = 0
    for (let round = 0; round < PROGRAMS; round++) {
      const program = new RandomProgram(random)
      if (program.methodCount === 0) continue
      const roots = random.chance(0.5) ? [random.below(program.classCount)] : []
      const seeds = Array.from({ length: 1 + random.below(2) }, () => ({
        method: random.below(program.methodCount),
        depth: random.chance(0.7) ? (0 as const) : (1 as const),
      }))
      const reverse = resultOf(ReverseCalls.read(program, analysis, roots))
      const search = new ImpactSearch(program, reverse)
      finish(search.run(seeds))
      const steps = edges(program, roots, analysis === 'cha')
      const expected = distances(steps, seeds)
      const about = JSON.stringify({ round, program, roots, seeds })
      const found = expected.map((_, method) =>
        search.isAffected(method) ? search.depthOf(method) : Infinity,
      )
      expect(found, about).toEqual(expected)
      for (const method of search.affected) {
        const next = search.nextOf(method)
        if (next !== undefined && next.is !== 'seed') expect(steps[method], about).toContain(next.to)
      }
      most = Math.max(most, search.affected.length)
    }
    expect(most).toBeGreaterThan(8)
  },
)
