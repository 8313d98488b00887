import type { Analysis } from '../../choices.ts'

/** Uses in the code of a method. */
export interface MethodUses {
  /** Call sites without their callers. */
  readonly sites: Int32Array
  /** Classes of which it creates objects. */
  readonly created: readonly number[]
  /** Classes that it initializes, besides those whose methods it calls. */
  readonly initialized: readonly number[]
  /** Classes of which reflection may create objects: it has their literals, or names them. */
  readonly reflected: readonly number[]
  /** Names of members that it looks up. */
  readonly named: readonly number[]
}

/** Classes and methods that the annotations of a class and its members name. */
export interface AnnotatedUses {
  readonly initialized: readonly number[]
  /** Classes of which reflection may create objects. */
  readonly reflected: readonly number[]
  readonly methods: readonly number[]
}

/** Code whose calls are followed. Methods, classes, types and call sites are numbers. */
export interface Code {
  readonly methodCount: number
  readonly classCount: number
  readonly siteCount: number
  usesOf(method: number): MethodUses
  /** Returns the class of a method. */
  classOf(method: number): number
  /** Returns the method that a call resolves to, or -1 if it is outside. */
  targetOf(site: number): number
  /** Returns the type of the receiver if the call is dispatched, else -1. */
  receiverOf(site: number): number
  /** Returns the method that a dispatched call reaches on an object of a class, or -1 if it is outside. */
  implementationOf(site: number, classId: number): number
  /** Calls `use` with each subtype of a type, and with the type itself if it is a class of the code. */
  forEachSubtype(type: number, use: (classId: number) => void): Generator<void, void>
  /** Returns a class and all of its supertypes. */
  supertypesOf(classId: number): Iterable<number>
  /** Returns the classes of the code that a class directly extends or implements. */
  parentsOf(classId: number): readonly number[]
  /** Returns the static initializer of a class, or -1. */
  initializerOf(classId: number): number
  /** Returns the methods of an object of a class that code outside may call. */
  callbacksOf(classId: number): Generator<void, readonly number[]>
  constructorsOf(classId: number): readonly number[]
  annotatedUsesOf(classId: number): AnnotatedUses
  /** Returns the methods with a name. */
  methodsNamed(name: number): readonly number[]
}

/** Where a traversal starts. */
export interface Start {
  /** Methods that are called, each with the number of its root. */
  readonly methods: readonly (readonly [method: number, root: number])[]
  /** Classes of which objects are created, each with the number of its root. */
  readonly classes: readonly (readonly [classId: number, root: number])[]
}

/** Why a method is reached. */
export type Cause =
  | { readonly is: 'root'; readonly root: number }
  | { readonly is: 'call'; readonly from: number; readonly site: number }
  /** `from` causes the class to be initialized. */
  | { readonly is: 'initializer'; readonly from: number }
  /** `from` creates the object. */
  | { readonly is: 'callback'; readonly from: number }
  /** `from`, or an annotation of a class that it initializes, names the class or the method. */
  | { readonly is: 'reflection'; readonly from: number }

/** Values of `#via` that are not call sites. */
const NOT_REACHED = -1
const INITIALIZER = -2
const CALLBACK = -3
const REFLECTION = -4
/** The root with number n is FIRST_ROOT - n. */
const FIRST_ROOT = -5

/**
 * Finds all methods that can be reached from roots. Each method and call site is visited once, and each
 * dispatched call once for each subtype of its receiver. A method is reached if
 *
 * - reached code calls it, or has a dispatched call that reaches it on an object of a class (see `Analysis`);
 * - it initializes a class of which a method is reached, an object is created or a static field is accessed;
 * - code outside may call it on an object that reached code creates;
 * - it is a constructor of a class of which reflection may create objects, or a method of an initialized class
 *   that reached code or an annotation names.
 *
 * Breadth-first, so that the causes of methods form short paths.
 */
export class Traversal {
  readonly #code: Code
  readonly #isCha: boolean
  /** Reached methods in order. */
  readonly #queue: Int32Array
  #count = 0
  readonly #from: Int32Array
  readonly #via: Int32Array
  /** Why objects of a class are created: a method, or a root as in `#via`; NOT_REACHED if they are not. */
  readonly #creator: Int32Array
  readonly #isInitialized: Uint8Array
  /** Initialized classes whose annotations were not read, each with its cause: a method, or a root as in `#via`. */
  readonly #unread: (readonly [classId: number, cause: number])[] = []
  readonly #names = new Set<number>()
  /** Methods with looked up names in classes that are not initialized, each with the first that looks it up. */
  readonly #found = new Map<number, (readonly [method: number, from: number])[]>()
  /** First caller of each call site in reached code, or NOT_REACHED. */
  readonly #caller: Int32Array
  /** Dispatched call sites in reached code by type. */
  readonly #dispatched = new Map<number, number[]>()

  constructor(code: Code, analysis: Analysis) {
    this.#code = code
    this.#isCha = analysis === 'cha'
    this.#queue = new Int32Array(code.methodCount)
    this.#from = new Int32Array(code.methodCount).fill(NOT_REACHED)
    this.#via = new Int32Array(code.methodCount).fill(NOT_REACHED)
    this.#creator = new Int32Array(code.classCount).fill(NOT_REACHED)
    this.#isInitialized = new Uint8Array(code.classCount)
    this.#caller = new Int32Array(code.siteCount).fill(NOT_REACHED)
  }

  /** Yields after each method. */
  *run({ methods, classes }: Start): Generator<void, void> {
    for (const [method, root] of methods) this.#reach(method, NOT_REACHED, FIRST_ROOT - root)
    for (const [classId, root] of classes) {
      yield
      yield* this.#create(classId, FIRST_ROOT - root)
    }
    yield* this.#readAnnotations()
    for (let at = 0; at < this.#count; at++) {
      yield
      const method = this.#queue[at] ?? 0
      const { sites, created, initialized, reflected, named } = this.#code.usesOf(method)
      for (const site of sites) yield* this.#call(method, site)
      for (const classId of created) yield* this.#create(classId, method)
      for (const classId of initialized) this.#initialize(classId, method)
      for (const classId of reflected) yield* this.#reflect(classId, method)
      for (const name of named) this.#name(name, method)
      yield* this.#readAnnotations()
    }
  }

  /** Returns the reached methods, in an order where each comes after its cause. */
  get reached(): Int32Array {
    return this.#queue.subarray(0, this.#count)
  }

  isReached(method: number): boolean {
    return this.#via[method] !== NOT_REACHED
  }

  /** Whether reached code or a root creates objects of a class. */
  isCreated(classId: number): boolean {
    return this.#creator[classId] !== NOT_REACHED
  }

  /** Whether a class is initialized. */
  isInitialized(classId: number): boolean {
    return this.#isInitialized[classId] === 1
  }

  /** Returns the first caller of a call site in reached code, or -1. */
  callerOf(site: number): number {
    return this.#caller[site] ?? NOT_REACHED
  }

  /** Returns why a method is reached, or undefined if it is not. */
  causeOf(method: number): Cause | undefined {
    const via = this.#via[method] ?? NOT_REACHED
    const from = this.#from[method] ?? NOT_REACHED
    if (via === NOT_REACHED) return undefined
    if (via <= FIRST_ROOT) return { is: 'root', root: FIRST_ROOT - via }
    if (via === INITIALIZER) return { is: 'initializer', from }
    if (via === REFLECTION) return { is: 'reflection', from }
    return via === CALLBACK ? { is: 'callback', from } : { is: 'call', from, site: via }
  }

  #reach(method: number, from: number, via: number): void {
    if (method < 0 || this.isReached(method)) return
    this.#add(method, from, via)
    this.#initialize(this.#code.classOf(method), method)
  }

  #add(method: number, from: number, via: number): void {
    this.#via[method] = via
    this.#from[method] = from
    this.#queue[this.#count++] = method
  }

  *#call(caller: number, site: number): Generator<void, void> {
    if (this.#caller[site] !== NOT_REACHED) return
    this.#caller[site] = caller
    this.#reach(this.#code.targetOf(site), caller, site)
    const type = this.#code.receiverOf(site)
    if (type < 0) return
    if (!this.#isCha) {
      const others = this.#dispatched.get(type)
      if (others === undefined) this.#dispatched.set(type, [site])
      else others.push(site)
    }
    yield* this.#code.forEachSubtype(type, (classId) => {
      if (this.#isCha || this.isCreated(classId))
        this.#reach(this.#code.implementationOf(site, classId), caller, site)
    })
  }

  /** @param creator method, or root as in `#via` */
  *#create(classId: number, creator: number): Generator<void, void> {
    if (this.isCreated(classId)) return
    this.#creator[classId] = creator
    this.#initialize(classId, creator)
    for (const method of yield* this.#code.callbacksOf(classId)) this.#reachBy(method, creator, CALLBACK)
    if (this.#isCha) return
    for (const type of this.#code.supertypesOf(classId)) {
      yield
      for (const site of this.#dispatched.get(type) ?? [])
        this.#reach(this.#code.implementationOf(site, classId), this.#caller[site] ?? NOT_REACHED, site)
    }
  }

  /**
   * Reaches a method other than by a call.
   *
   * @param cause method, or root as in `#via`
   * @param via if the cause is a method
   */
  #reachBy(method: number, cause: number, via: number): void {
    if (cause <= FIRST_ROOT) this.#reach(method, NOT_REACHED, cause)
    else this.#reach(method, cause, via)
  }

  /** @param cause method, or root as in `#via` */
  *#reflect(classId: number, cause: number): Generator<void, void> {
    yield* this.#create(classId, cause)
    for (const method of this.#code.constructorsOf(classId)) this.#reachBy(method, cause, REFLECTION)
  }

  /** Reaches the methods with a name that `from` looks up, once their class is initialized. */
  #name(name: number, from: number): void {
    if (this.#names.has(name)) return
    this.#names.add(name)
    for (const method of this.#code.methodsNamed(name)) {
      const classId = this.#code.classOf(method)
      const others = this.#found.get(classId)
      if (this.isInitialized(classId)) this.#reach(method, from, REFLECTION)
      else if (others === undefined) this.#found.set(classId, [[method, from]])
      else others.push([method, from])
    }
  }

  *#readAnnotations(): Generator<void, void> {
    for (let next = this.#unread.pop(); next !== undefined; next = this.#unread.pop()) {
      yield
      const [classId, cause] = next
      const { initialized, reflected, methods } = this.#code.annotatedUsesOf(classId)
      for (const each of initialized) this.#initialize(each, cause)
      for (const each of reflected) yield* this.#reflect(each, cause)
      for (const method of methods) this.#reachBy(method, cause, REFLECTION)
      for (const [method, from] of this.#found.get(classId) ?? []) this.#reach(method, from, REFLECTION)
    }
  }

  /** @param cause method, or root as in `#via` */
  #initialize(classId: number, cause: number): void {
    const isRoot = cause <= FIRST_ROOT
    const open = [classId]
    // Not recursive: class files can have any number of superclasses.
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.isInitialized(next)) continue
      this.#isInitialized[next] = 1
      this.#unread.push([next, cause])
      const method = this.#code.initializerOf(next)
      if (method >= 0 && !this.isReached(method))
        this.#add(method, isRoot ? NOT_REACHED : cause, isRoot ? cause : INITIALIZER)
      open.push(...this.#code.parentsOf(next))
    }
  }
}
