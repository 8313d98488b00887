import { expect, test } from 'vitest'
import { type Code, Traversal } from '../../../../src/analyzer/query/reach/traverse.ts'
import { Random } from '../../../support/differential/random.ts'

const PROGRAMS = 400

const seed = Number(process.env['REACH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

interface Method {
  readonly sites: readonly number[]
  readonly created: readonly number[]
  readonly initialized: readonly number[]
}

/** A call site names a class and one of the signatures, of which a class declares some. */
interface Site {
  readonly owner: number
  readonly signature: number
  readonly isDispatched: boolean
}

/** A random program: classes that extend earlier ones, and one method for each signature they declare. */
class Program implements Code {
  readonly classCount: number
  readonly sites: readonly Site[]
  readonly parents: readonly (readonly number[])[]
  /** Method by class and signature; the first signature is that of static initializers. */
  readonly declared: readonly (readonly (number | undefined)[])[]
  readonly methods: readonly Method[]
  readonly owners: readonly number[]
  /** Signatures that code outside may call. */
  readonly offered: readonly number[]

  constructor(random: Random) {
    const some = (most: number, below: number) =>
      Array.from({ length: random.below(most + 1) }, () => random.below(below))
    this.classCount = 1 + random.below(7)
    const signatures = 2 + random.below(4)
    this.parents = Array.from({ length: this.classCount }, (_, classId) =>
      classId === 0 ? [] : [...new Set(some(2, classId))],
    )
    const owners: number[] = []
    this.declared = this.parents.map((_, classId) =>
      Array.from({ length: signatures }, () => (random.chance(0.5) ? owners.push(classId) - 1 : undefined)),
    )
    this.owners = owners
    this.sites = Array.from({ length: 1 + random.below(10) }, () => ({
      owner: random.below(this.classCount),
      signature: 1 + random.below(signatures - 1),
      isDispatched: random.chance(0.7),
    }))
    this.methods = owners.map(() => ({
      sites: some(2, this.sites.length),
      created: random.chance(0.3) ? some(2, this.classCount) : [],
      initialized: random.chance(0.2) ? some(1, this.classCount) : [],
    }))
    this.offered = random.chance(0.3) ? [1] : []
  }

  get methodCount(): number {
    return this.methods.length
  }
  get siteCount(): number {
    return this.sites.length
  }
  usesOf(method: number) {
    const { sites = [], created = [], initialized = [] } = this.methods[method] ?? {}
    return { sites: Int32Array.from(sites), created, initialized }
  }
  classOf(method: number): number {
    return this.owners[method] ?? -1
  }
  targetOf(site: number): number {
    const { owner = -1, signature = -1 } = this.sites[site] ?? {}
    return this.resolve(owner, signature)
  }
  receiverOf(site: number): number {
    const { owner = -1, isDispatched = false } = this.sites[site] ?? {}
    return isDispatched ? owner : -1
  }
  implementationOf(site: number, classId: number): number {
    return this.resolve(classId, this.sites[site]?.signature ?? -1)
  }
  *forEachSubtype(type: number, use: (classId: number) => void) {
    yield
    for (const classId of this.parents.keys()) if (this.supertypesOf(classId).has(type)) use(classId)
  }
  supertypesOf(classId: number): ReadonlySet<number> {
    return new Set([classId, ...this.parentsOf(classId).flatMap((parent) => [...this.supertypesOf(parent)])])
  }
  parentsOf(classId: number): readonly number[] {
    return this.parents[classId] ?? []
  }
  initializerOf(classId: number): number {
    return this.declared[classId]?.[0] ?? -1
  }
  *callbacksOf(classId: number) {
    yield
    return this.offered.map((signature) => this.resolve(classId, signature)).filter((method) => method >= 0)
  }
  resolve(classId: number, signature: number): number {
    const own = this.declared[classId]?.[signature]
    if (own !== undefined) return own
    const inherited = this.parentsOf(classId).map((parent) => this.resolve(parent, signature))
    return inherited.find((method) => method >= 0) ?? -1
  }
}

/** Applies every rule until nothing changes. */
function bruteForce(
  program: Program,
  start: { methods: readonly number[]; classes: readonly number[] },
  isCha: boolean,
) {
  const methods = new Set(start.methods)
  const created = new Set(start.classes)
  const initialized = new Set(start.classes)
  const add = (method: number) => void (method >= 0 && methods.add(method))
  for (let before = -1; before !== methods.size + created.size + initialized.size;) {
    before = methods.size + created.size + initialized.size
    for (const method of methods) {
      const uses = program.usesOf(method)
      initialized.add(program.classOf(method))
      for (const each of uses.created) created.add(each)
      for (const each of [...uses.created, ...uses.initialized]) initialized.add(each)
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
    for (const classId of initialized)
      for (const each of program.supertypesOf(classId)) add(program.initializerOf(each))
  }
  return { methods: [...methods].toSorted((a, b) => a - b), created: [...created].toSorted((a, b) => a - b) }
}

function finish(work: Generator<void, void>): void {
  while (work.next().done !== true);
}

test.each(['rta', 'cha'] as const)(
  `random programs reach by %s what every rule gives (REACH_SEED=${seed})`,
  (analysis) => {
    const random = new Random(seed)
    let most = 0
    for (let round = 0; round < PROGRAMS; round++) {
      const program = new Program(random)
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
  },
)

test('a class with very many superclasses is initialized', () => {
  const depth = 50_000
  const program: Code = {
    methodCount: depth,
    classCount: depth,
    siteCount: 0,
    usesOf: () => ({ sites: new Int32Array(), created: [], initialized: [] }),
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
  }
  const traversal = new Traversal(program, 'rta')
  finish(traversal.run({ methods: [], classes: [[depth - 1, 0]] }))
  expect(traversal.reached).toHaveLength(depth)
})
