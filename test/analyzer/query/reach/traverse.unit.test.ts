import { expect, test } from 'vitest'
import { type Code, Traversal } from '../../../../src/analyzer/query/reach/traverse.ts'
import { finish, RandomProgram } from '../../../support/analyzer/random-program.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

const PROGRAMS = 400

/** Applies every rule until nothing changes. */
function bruteForce(
  program: RandomProgram,
  start: { methods: readonly number[]; classes: readonly number[] },
  isCha: boolean,
) {
  const methods = new Set(start.methods)
  const created = new Set(start.classes)
  const initialized = new Set(start.classes)
  const named = new Set<number>()
  const add = (method: number) => void (method >= 0 && methods.add(method))
  const reflect = (classId: number): void => {
    created.add(classId)
    initialized.add(classId)
    program.constructorsOf(classId).forEach(add)
  }
  const size = (): number => methods.size + created.size + initialized.size + named.size
  for (let before = -1; before !== size();) {
    before = size()
    for (const method of methods) {
      const uses = program.usesOf(method)
      initialized.add(program.classOf(method))
      for (const each of uses.created) created.add(each)
      for (const each of [...uses.created, ...uses.initialized]) initialized.add(each)
      uses.reflected.forEach(reflect)
      for (const name of uses.named) named.add(name)
      for (const site of uses.sites) {
        const { owner, isDispatched } = program.sites[site] ?? { owner: -1, isDispatched: false }
        add(program.targetOf(site))
        for (const classId of isCha ? program.parents.keys() : created)
          if (isDispatched && program.supertypesOf(classId).has(owner))
            add(program.implementationOf(site, classId))
      }
    }
    for (const classId of created)
      for (const signature of program.offered) add(program.resolve(classId, signature))
    for (const classId of initialized) {
      for (const each of program.supertypesOf(classId)) {
        initialized.add(each)
        add(program.initializerOf(each))
      }
      const annotated = program.annotatedUsesOf(classId)
      annotated.initialized.forEach((each) => initialized.add(each))
      annotated.reflected.forEach(reflect)
      annotated.methods.forEach(add)
      for (const name of named) add(program.declared[classId]?.[name] ?? -1)
    }
  }
  return { methods: [...methods].toSorted((a, b) => a - b), created: [...created].toSorted((a, b) => a - b) }
}

test.each(['rta', 'cha'] as const)('random programs reach by %s what every rule gives', (analysis) => {
  const random = new Random(SEED)
  let most = 0
  for (let round = 0; round < PROGRAMS; round++) {
    const program = new RandomProgram(random)
    if (program.methodCount === 0) continue
    const methods = [random.below(program.methodCount)]
    const classes = random.chance(0.5) ? [random.below(program.classCount)] : []
    const traversal = new Traversal(program, analysis)
    finish(
      traversal.run({
        methods: methods.map((method) => [method, 0] as const),
        classes: classes.map((classId) => [classId, 1] as const),
      }),
    )
    const expected = bruteForce(program, { methods, classes }, analysis === 'cha')
    const about = JSON.stringify({ round, program, methods, classes })
    expect(
      [...traversal.reached].toSorted((a, b) => a - b),
      about,
    ).toEqual(expected.methods)
    const created = [...program.parents.keys()].filter((classId) => traversal.isCreated(classId))
    expect(created, about).toEqual(expected.created)
    const position = new Map(Array.from(traversal.reached, (method, at) => [method, at]))
    for (const method of traversal.reached) {
      const cause = traversal.causeOf(method)
      // Every method comes after its cause, so that paths end at a root.
      if (cause !== undefined && cause.is !== 'root')
        expect(position.get(cause.from) ?? Infinity, about).toBeLessThan(position.get(method) ?? -1)
    }
    most = Math.max(most, expected.methods.length)
  }
  expect(most).toBeGreaterThan(8)
})

test('a class with very many superclasses is initialized', () => {
  const depth = 50_000
  const program: Code = {
    methodCount: depth,
    classCount: depth,
    siteCount: 0,
    usesOf: () => ({ sites: new Int32Array(), created: [], initialized: [], reflected: [], named: [] }),
    classOf: (method) => method,
    targetOf: () => -1,
    receiverOf: () => -1,
    implementationOf: () => -1,
    *forEachSubtype() {},
    supertypesOf: () => [],
    parentsOf: (classId) => (classId === 0 ? [] : [classId - 1]),
    initializerOf: (classId) => classId,
    *callbacksOf() {
      yield
      return []
    },
    constructorsOf: () => [],
    annotatedUsesOf: () => ({ initialized: [], reflected: [], methods: [] }),
    methodsNamed: () => [],
  }
  const traversal = new Traversal(program, 'rta')
  finish(traversal.run({ methods: [], classes: [[depth - 1, 0]] }))
  expect(traversal.reached).toHaveLength(depth)
})
