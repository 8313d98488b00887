import type { Analysis } from '../../choices.ts'
import type { Code } from '../reach/traverse.ts'

/** Lists of numbers by number. */
class Lists {
  readonly #first: Int32Array
  readonly #values: Int32Array

  constructor(count: number, pairs: Pairs) {
    const { keys, values, length } = pairs
    this.#first = new Int32Array(count + 1)
    for (let at = 0; at < length; at++) this.#first[(keys[at] ?? 0) + 1]! += 1
    for (let key = 0; key < count; key++) this.#first[key + 1]! += this.#first[key] ?? 0
    const next = this.#first.slice()
    this.#values = new Int32Array(length)
    for (let at = 0; at < length; at++) {
      const key = keys[at] ?? 0
      this.#values[next[key] ?? 0] = values[at] ?? 0
      next[key]! += 1
    }
  }

  of(key: number): Int32Array {
    return this.#values.subarray(this.#first[key], this.#first[key + 1])
  }
}

class Pairs {
  keys = new Int32Array(1024)
  values = new Int32Array(1024)
  length = 0

  add(key: number, value: number): void {
    if (this.length === this.keys.length) {
      const [keys, values] = [new Int32Array(2 * this.length), new Int32Array(2 * this.length)]
      keys.set(this.keys)
      values.set(this.values)
      this.keys = keys
      this.values = values
    }
    this.keys[this.length] = key
    this.values[this.length++] = value
  }
}

/**
 * The calls of `Traversal` backwards, for all code instead of reached code: an object exists if any code or a
 * root creates it, so that code which no root reaches has callers too.
 */
export class ReverseCalls {
  /** Methods that contain a call site. */
  readonly callers: Lists
  /** Call sites that reach a method. */
  readonly sites: Lists
  /** Classes whose objects have a method that code outside may call. */
  readonly calledBack: Lists
  /** Methods that create objects of a class. */
  readonly creators: Lists
  /** Methods that cause a class to be initialized, besides those that belong to it. */
  readonly initializers: Lists
  /** Methods of a class. */
  readonly methods: Lists
  /** Classes of the code that directly extend or implement a class. */
  readonly children: Lists

  private constructor(code: Code, pairs: Readonly<Record<Relation, Pairs>>) {
    this.callers = new Lists(code.siteCount, pairs.callers)
    this.sites = new Lists(code.methodCount, pairs.sites)
    this.calledBack = new Lists(code.methodCount, pairs.calledBack)
    this.creators = new Lists(code.classCount, pairs.creators)
    this.initializers = new Lists(code.classCount, pairs.initializers)
    this.methods = new Lists(code.classCount, pairs.methods)
    this.children = new Lists(code.classCount, pairs.children)
  }

  /**
   * Reads all code; yields after each method and call site.
   *
   * @param roots classes of which roots create objects
   */
  static *read(code: Code, analysis: Analysis, roots: Iterable<number>): Generator<void, ReverseCalls> {
    const pairs: Record<Relation, Pairs> = {
      callers: new Pairs(),
      sites: new Pairs(),
      calledBack: new Pairs(),
      creators: new Pairs(),
      initializers: new Pairs(),
      methods: new Pairs(),
      children: new Pairs(),
    }
    const created = new Set(roots)
    const classes = new Set(created)
    for (let method = 0; method < code.methodCount; method++) {
      const classId = code.classOf(method)
      if (classId < 0) continue
      yield
      classes.add(classId)
      pairs.methods.add(classId, method)
      const uses = code.usesOf(method)
      for (const site of uses.sites) pairs.callers.add(site, method)
      for (const each of [...uses.created, ...uses.reflected]) {
        created.add(each)
        classes.add(each)
        pairs.creators.add(each, method)
      }
      for (const each of uses.initialized) {
        classes.add(each)
        pairs.initializers.add(each, method)
      }
    }
    // A set's iteration includes the parents that are added meanwhile.
    for (const classId of classes) {
      yield
      for (const parent of code.parentsOf(classId)) {
        classes.add(parent)
        pairs.children.add(parent, classId)
      }
    }
    for (const classId of created)
      for (const method of yield* code.callbacksOf(classId)) pairs.calledBack.add(method, classId)
    for (let site = 0; site < code.siteCount; site++) {
      yield
      const targets = new Set([code.targetOf(site)])
      const type = code.receiverOf(site)
      if (type >= 0)
        yield* code.forEachSubtype(type, (classId) => {
          if (analysis === 'cha' || created.has(classId)) targets.add(code.implementationOf(site, classId))
        })
      for (const method of targets) if (method >= 0) pairs.sites.add(method, site)
    }
    return new ReverseCalls(code, pairs)
  }
}

type Relation = 'callers' | 'sites' | 'calledBack' | 'creators' | 'initializers' | 'methods' | 'children'
