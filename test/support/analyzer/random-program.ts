import type { Code } from '../../../src/analyzer/query/reach/traverse.ts'
import type { Random } from '../differential/random.ts'

interface Method {
  readonly sites: readonly number[]
  readonly created: readonly number[]
  readonly initialized: readonly number[]
  readonly reflected: readonly number[]
  /** Signatures that it names. */
  readonly named: readonly number[]
}

/** Classes and methods that the annotations of a class name. */
interface Annotated {
  readonly initialized: readonly number[]
  readonly reflected: readonly number[]
  readonly methods: readonly number[]
}

/** A call site names a class and one of the signatures, of which a class declares some. */
interface Site {
  readonly owner: number
  readonly signature: number
  readonly isDispatched: boolean
}

/** A random program: classes that extend earlier ones, and one method for each signature they declare. */
export class RandomProgram implements Code {
  readonly classCount: number
  readonly sites: readonly Site[]
  readonly parents: readonly (readonly number[])[]
  /** Method by class and signature; the first signature is that of static initializers. */
  readonly declared: readonly (readonly (number | undefined)[])[]
  readonly methods: readonly Method[]
  readonly owners: readonly number[]
  readonly annotated: readonly Annotated[]
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
      reflected: random.chance(0.1) ? some(2, this.classCount) : [],
      named: random.chance(0.1) ? [1 + random.below(signatures - 1)] : [],
    }))
    this.annotated = this.parents.map(() => ({
      initialized: random.chance(0.1) ? some(1, this.classCount) : [],
      reflected: random.chance(0.1) ? some(1, this.classCount) : [],
      methods: random.chance(0.1) && owners.length > 0 ? [random.below(owners.length)] : [],
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
    const {
      sites = [],
      created = [],
      initialized = [],
      reflected = [],
      named = [],
    } = this.methods[method] ?? {}
    return { sites: Int32Array.from(sites), created, initialized, reflected, named }
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
  /** A class's constructor has the last signature. */
  constructorsOf(classId: number): readonly number[] {
    const method = this.declared[classId]?.at(-1)
    return method === undefined ? [] : [method]
  }
  annotatedUsesOf(classId: number): Annotated {
    return this.annotated[classId] ?? { initialized: [], reflected: [], methods: [] }
  }
  methodsNamed(name: number): readonly number[] {
    return this.declared.flatMap((methods) => methods[name] ?? [])
  }
  resolve(classId: number, signature: number): number {
    const own = this.declared[classId]?.[signature]
    if (own !== undefined) return own
    const inherited = this.parentsOf(classId).map((parent) => this.resolve(parent, signature))
    return inherited.find((method) => method >= 0) ?? -1
  }
}

/** Runs work that pauses until it ends. */
export function finish(work: Generator<void, void>): void {
  while (work.next().done !== true);
}
