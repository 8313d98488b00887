import { ACC } from './access-flags.ts'
import { type Facts, rows } from './facts.ts'

const METAFACTORY = 'java/lang/invoke/LambdaMetafactory'

/** Repeats the lambdas of a class for serialization: nothing in it is written. */
const DESERIALIZER = '$deserializeLambda$'
const DESERIALIZER_TYPE = '(Ljava/lang/invoke/SerializedLambda;)Ljava/lang/Object;'

/** Name of ecj's methods with the array for a switch over an enum. */
const SWITCH_TABLE = /^\$SWITCH_TABLE\$/

/** Counts code for several methods up to so many rows, or times the rows of its class: else it has no holders. */
const SHARED_ROWS = 2 ** 13
const SHARED_TIMES = 16

/** Suffixes of methods that a Kotlin compiler adds for one with the name before it. */
const ADDED = /^(.+)\$(?:default|annotations)$/

/** Names that compilers give to the bodies of lambdas: javac, ecj (without a method), Kotlin and Scala. */
const NAMES = [
  /^lambda\$(.+?)\$\w+(?:\$\d+)?$/,
  /^(.+?)\$lambda[$-]/,
  /^\$anonfun\$(.+?)\$\d+(?:\$adapted)?$/,
]
const NAMED: Readonly<Record<string, string>> = { new: '<init>', static: '<clinit>' }

/**
 * The methods of a class that a person wrote, and those with ACC_SYNTHETIC that a compiler made for them: the
 * bodies of lambdas at any depth, bridges, methods for default arguments …
 */
export class WrittenMethods {
  readonly #facts: Facts
  readonly #row: number
  /** The compiler's methods by name and descriptor. */
  readonly #made = new Map<string, number>()
  /** Those that a LambdaMetafactory's handle in another method refers to. */
  readonly #bodies = new Set<number>()
  /** Those that count for nothing. */
  readonly #repeated = new Set<number>()
  /** Methods that stand for another, and their call of it, or -1. */
  readonly #delegations = new Map<number, number>()
  /** Written methods that each of the compiler's counts for. */
  readonly #holders = new Map<number, number[]>()

  private constructor(facts: Facts, row: number) {
    const { classes, methods } = facts
    this.#facts = facts
    this.#row = row
    const own = rows(classes.firstMethod, row)
    for (const method of own)
      if (((methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0)
        this.#made.set(keyOf(methods.name[method], methods.descriptor[method]), method)
    for (const method of this.#made.values()) if (this.#repeatsCode(method)) this.#repeated.add(method)
    if (this.#made.size > 0) this.#findHolders(own)
  }

  /** Returns the methods of a class; they are read once. */
  static of(facts: Facts, row: number): WrittenMethods {
    let known = read.get(facts)
    if (known === undefined) read.set(facts, (known = new Map()))
    let found = known.get(row)
    if (found === undefined) known.set(row, (found = new WrittenMethods(facts, row)))
    return found
  }

  /** Whether a compiler made a method. */
  isMade(method: number): boolean {
    return ((this.#facts.methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0
  }

  /** Whether nothing in a method counts, because it repeats what others contain. */
  isRepeated(method: number): boolean {
    return this.#repeated.has(method)
  }

  /** Returns the written methods of its class that a method counts for: itself alone if it is written. */
  holdersOf(method: number): readonly number[] {
    return this.isMade(method) ? (this.#holders.get(method) ?? []) : [method]
  }

  /** Whether a method only passes its call on to the one that it stands for, as a bridge does. */
  isAlias(method: number): boolean {
    return this.#delegations.has(method)
  }

  /** Whether a call is the one by which a method passes its own on. */
  isDelegation(method: number, call: number): boolean {
    return this.#delegations.get(method) === call
  }

  /** Whether a call is of a compiler's method whose own calls count for the caller. */
  isOfPart(call: number): boolean {
    const { classes, calls } = this.#facts
    if (this.#made.size === 0 || calls.owner[call] !== classes.name[this.#row]) return false
    const called = this.#made.get(keyOf(calls.name[call], calls.descriptor[call])) ?? -1
    return this.#holders.has(called) && !this.#delegations.has(called)
  }

  /** Whether a method is the body of a lambda. */
  isLambdaBody(method: number): boolean {
    return this.#bodies.has(method)
  }

  /** Whether an invokedynamic creates a method reference: its handle does not refer to a lambda's body. */
  isMethodReference(dynamicCall: number): boolean {
    const { dynamicCalls } = this.#facts
    if ((dynamicCalls.handleOwner[dynamicCall] ?? -1) < 0 || !isMetafactory(this.#facts, dynamicCall))
      return false
    if (this.#bodies.size === 0) return true
    const { handleName, handleDescriptor } = dynamicCalls
    const method = this.#made.get(keyOf(handleName[dynamicCall], handleDescriptor[dynamicCall]))
    return method === undefined || !this.#bodies.has(method)
  }

  /** Whether a method restores serialized lambdas, or has the array for a switch; other code would not be a repetition. */
  #repeatsCode(method: number): boolean {
    const { methods, calls, strings } = this.#facts
    if (SWITCH_TABLE.test(this.#nameOf(method))) return true
    return (
      this.#nameOf(method) === DESERIALIZER &&
      strings.get(methods.descriptor[method] ?? 0) === DESERIALIZER_TYPE &&
      rows(methods.firstCall, method).every((call) =>
        strings.get(calls.owner[call] ?? 0).startsWith('java/lang/'),
      )
    )
  }

  #nameOf(method: number): string {
    return this.#facts.strings.get(this.#facts.methods.name[method] ?? 0)
  }

  /** Follows what written methods refer to, so that cycles of the compiler's methods end. */
  #findHolders(own: readonly number[]): void {
    const { methods } = this.#facts
    const below = new Map<number, number[]>()
    const add = (from: number, to: number): void => {
      const others = below.get(from)
      if (others === undefined) below.set(from, [to])
      else others.push(to)
    }
    const written = new Map<string, number>()
    const declared = new Map<string, number>()
    for (const method of own) {
      declared.set(keyOf(methods.name[method], methods.descriptor[method]), method)
      if (!this.isMade(method) && !written.has(this.#nameOf(method)))
        written.set(this.#nameOf(method), method)
    }
    for (const method of this.#made.values()) {
      const target = this.#findTarget(method, written, declared)
      if (target >= 0) add(target, method)
    }
    for (const method of own)
      for (const to of this.#referredBy(method))
        if (to !== method && !this.#delegations.has(to)) add(method, to)
    let left = sharedRows(own.reduce((sum, method) => sum + codeRows(this.#facts, method), 0))
    const hold = (method: number, holder: number): boolean => {
      const known = this.#holders.get(method)
      // The holders are added one after the other.
      if (known?.at(-1) === holder) return false
      left -= codeRows(this.#facts, method)
      if (known === undefined) this.#holders.set(method, [holder])
      else known.push(holder)
      return true
    }
    const spread = (from: number, holder: number): void => {
      const queue = [from]
      // An array's iteration includes what is added meanwhile.
      for (const method of queue)
        for (const each of below.get(method) ?? []) {
          left--
          if (left > 0 && hold(each, holder)) queue.push(each)
        }
    }
    for (const method of own) if (!this.isMade(method)) spread(method, method)
    for (const method of this.#made.values()) {
      const named = written.get(nameIn(this.#nameOf(method)))
      if (this.#holders.has(method) || named === undefined || this.isRepeated(method)) continue
      hold(method, named)
      spread(method, named)
    }
    if (left <= 0) this.#holders.clear()
  }

  /**
   * Notes a method that stands for another of its class or of a parent. @returns the other if the class
   * declares it, or -1
   */
  #findTarget(
    method: number,
    written: ReadonlyMap<string, number>,
    declared: ReadonlyMap<string, number>,
  ): number {
    const { methods, calls, classes, strings } = this.#facts
    const name = this.#nameOf(method)
    const of = ADDED.exec(name)?.[1] ?? name
    const isBridge = ((methods.accessFlags[method] ?? 0) & ACC.BRIDGE) !== 0
    for (const call of rows(methods.firstCall, method)) {
      if (strings.get(calls.name[call] ?? 0) !== of) continue
      const isOwn = calls.owner[call] === classes.name[this.#row]
      const isItself = isOwn && of === name && calls.descriptor[call] === methods.descriptor[method]
      if (isItself || !(isOwn || (isBridge && this.#isParent(calls.owner[call])))) continue
      this.#delegations.set(method, call)
      return isOwn ? (declared.get(keyOf(calls.name[call], calls.descriptor[call])) ?? -1) : -1
    }
    if (of === name) return -1
    const named = written.get(of) ?? -1
    if (named >= 0) this.#delegations.set(method, -1)
    return named
  }

  #isParent(type = -1): boolean {
    const { classes, interfaces } = this.#facts
    return (
      type === classes.superName[this.#row] ||
      rows(classes.firstInterface, this.#row).some((each) => interfaces.name[each] === type)
    )
  }

  /** Returns the compiler's methods of the class that a method refers to; notes bodies of lambdas. */
  #referredBy(method: number): readonly number[] {
    if (this.isRepeated(method)) return []
    const { classes, methods, calls, dynamicCalls } = this.#facts
    const self = classes.name[this.#row]
    const found: number[] = []
    for (const at of rows(methods.firstCall, method)) {
      if (calls.owner[at] !== self) continue
      const to = this.#made.get(keyOf(calls.name[at], calls.descriptor[at]))
      if (to !== undefined) found.push(to)
    }
    for (const at of rows(methods.firstDynamicCall, method)) {
      if (dynamicCalls.handleOwner[at] !== self) continue
      const to = this.#made.get(keyOf(dynamicCalls.handleName[at], dynamicCalls.handleDescriptor[at]))
      if (to === undefined) continue
      found.push(to)
      if (to !== method && isMetafactory(this.#facts, at)) this.#bodies.add(to)
    }
    return found
  }
}

/** Returns the number of calls, accesses of fields and references to types in a method. */
export function codeRows({ methods }: Facts, method: number): number {
  const countIn = (first: Int32Array): number => (first[method + 1] ?? 0) - (first[method] ?? 0)
  const { firstCall, firstDynamicCall, firstFieldAccess, firstTypeReference } = methods
  return (
    countIn(firstCall) + countIn(firstDynamicCall) + countIn(firstFieldAccess) + countIn(firstTypeReference)
  )
}

/** Returns how many rows of code may count, of class files with so many: these can be made to have any number. */
export function sharedRows(count: number): number {
  return Math.max(SHARED_ROWS, SHARED_TIMES * count)
}

const read = new WeakMap<Facts, Map<number, WrittenMethods>>()

function keyOf(name = -1, descriptor = -1): string {
  return `${name} ${descriptor}`
}

/** Returns the name of the method in which a lambda is, by the name of its body. */
function nameIn(body: string): string {
  for (const pattern of NAMES) {
    const name = pattern.exec(body)?.[1]
    if (name !== undefined) return NAMED[name] ?? name
  }
  return ''
}

/** Whether an invokedynamic creates a lambda or a method reference. */
export function isMetafactory({ dynamicCalls, strings }: Facts, dynamicCall: number): boolean {
  const owner = dynamicCalls.bootstrapOwner[dynamicCall] ?? -1
  return owner >= 0 && strings.get(owner) === METAFACTORY
}
