import type { Code } from '../reach/traverse.ts'
import type { ReverseCalls } from './reverse-calls.ts'

/** A method where a search starts. */
export interface Seed {
  readonly method: number
  /** 0 for a changed method, 1 for one that uses what changed. */
  readonly depth: 0 | 1
}

/** Why a method is affected: the next step towards a change. */
export type Next =
  | { readonly is: 'seed'; readonly seed: number }
  | { readonly is: 'call'; readonly to: number; readonly site: number }
  | { readonly is: 'initializer' | 'callback'; readonly to: number }

/** Values of `#via` that are not call sites. */
const NOT_AFFECTED = -1
const INITIALIZER = -2
const CALLBACK = -3
/** The seed with number n is FIRST_SEED - n. */
const FIRST_SEED = -4

/**
 * Finds all methods from which seeds can be reached, breadth-first, so that the steps to a seed form a
 * shortest path. Each method, call site and class is visited once.
 */
export class ImpactSearch {
  readonly #code: Code
  readonly #reverse: ReverseCalls
  readonly #queue: Int32Array
  #count = 0
  readonly #to: Int32Array
  readonly #via: Int32Array
  readonly #depth: Int32Array
  readonly #isSiteSeen: Uint8Array
  readonly #isCreationSeen: Uint8Array
  readonly #isInitializationSeen: Uint8Array

  constructor(code: Code, reverse: ReverseCalls) {
    this.#code = code
    this.#reverse = reverse
    this.#queue = new Int32Array(code.methodCount)
    this.#to = new Int32Array(code.methodCount).fill(-1)
    this.#via = new Int32Array(code.methodCount).fill(NOT_AFFECTED)
    this.#depth = new Int32Array(code.methodCount)
    this.#isSiteSeen = new Uint8Array(code.siteCount)
    this.#isCreationSeen = new Uint8Array(code.classCount)
    this.#isInitializationSeen = new Uint8Array(code.classCount)
  }

  /** Yields after each method. */
  *run(seeds: readonly Seed[]): Generator<void, void> {
    for (const depth of [0, 1])
      for (const [at, seed] of seeds.entries())
        if (seed.depth === depth) this.#add(seed.method, -1, FIRST_SEED - at, depth)
    for (let at = 0; at < this.#count; at++) {
      yield
      const method = this.#queue[at] ?? 0
      for (const site of this.#reverse.sites.of(method)) {
        if (this.#isSiteSeen[site] === 1) continue
        this.#isSiteSeen[site] = 1
        for (const caller of this.#reverse.callers.of(site)) this.#reach(caller, method, site)
      }
      for (const classId of this.#reverse.calledBack.of(method)) {
        if (this.#isCreationSeen[classId] === 1) continue
        this.#isCreationSeen[classId] = 1
        for (const creator of this.#reverse.creators.of(classId)) this.#reach(creator, method, CALLBACK)
      }
      if (this.#code.initializerOf(this.#code.classOf(method)) === method) this.#initialize(method)
    }
  }

  /** Returns the affected methods, those with the shortest paths first. */
  get affected(): Int32Array {
    return this.#queue.subarray(0, this.#count)
  }

  isAffected(method: number): boolean {
    return this.#via[method] !== NOT_AFFECTED
  }

  /** Returns the number of steps from an affected method to a change. */
  depthOf(method: number): number {
    return this.#depth[method] ?? 0
  }

  /** Returns why a method is affected, or undefined if it is not. */
  nextOf(method: number): Next | undefined {
    const via = this.#via[method] ?? NOT_AFFECTED
    const to = this.#to[method] ?? -1
    if (via === NOT_AFFECTED) return undefined
    if (via <= FIRST_SEED) return { is: 'seed', seed: FIRST_SEED - via }
    if (via === INITIALIZER) return { is: 'initializer', to }
    return via === CALLBACK ? { is: 'callback', to } : { is: 'call', to, site: via }
  }

  /** Adds what initializes the class of a static initializer, or a class below it. */
  #initialize(method: number): void {
    const open = [this.#code.classOf(method)]
    // Not recursive: class files can have any number of superclasses.
    for (let classId = open.pop(); classId !== undefined; classId = open.pop()) {
      if (this.#isInitializationSeen[classId] === 1) continue
      this.#isInitializationSeen[classId] = 1
      for (const lists of [this.#reverse.methods, this.#reverse.creators, this.#reverse.initializers])
        for (const each of lists.of(classId)) this.#reach(each, method, INITIALIZER)
      open.push(...this.#reverse.children.of(classId))
    }
  }

  #reach(method: number, to: number, via: number): void {
    this.#add(method, to, via, this.depthOf(to) + 1)
  }

  #add(method: number, to: number, via: number, depth: number): void {
    if (method < 0 || this.isAffected(method)) return
    this.#via[method] = via
    this.#to[method] = to
    this.#depth[method] = depth
    this.#queue[this.#count++] = method
  }
}
