import { CONSTANT } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { fault } from '../../errors.ts'
import { doubleOf, floatOf, longOf } from '../annotations/annotation-value.ts'
import { WrittenMethods } from '../../bytecode/written-methods.ts'
import { methodKey, methodsWith } from '../types/methods-search.ts'
import { returnTypes } from '../name-tests.ts'
import { lineOf, toFqn, typesOfMethod } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { AS_COMPILED, type Attribution, CLASS_ITSELF } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'

/** Filter of call sites. */
export interface CallFilter {
  readonly method?: string | undefined
  readonly descriptor?: string | undefined
  readonly inMethodsReturning?: string | undefined
  readonly inMethodsAnnotated?: string | undefined
  /** Includes method references; and calls in lambdas also with a filter of methods. */
  readonly includeLambdas: boolean
  /** Lists the methods that a compiler made, instead of counting their calls for those that a person wrote. */
  readonly synthetic: boolean
}

/** A call site. */
interface CallView {
  readonly ownerType: string
  readonly methodName: string
  readonly descriptor: string
  readonly isInterface: boolean
  readonly constantArgs: readonly ConstantArg[]
  readonly lineNumber: number | null
  /** Set for a method reference, and for a call in a lambda's body. */
  readonly via?: 'methodRef' | 'lambda'
}

interface ConstantArg {
  readonly kind: keyof typeof CONSTANT
  readonly value: string | number
  /** Index of the argument, from 0. */
  readonly index: number
}

/**
 * Returns the call sites in a class, method by method.
 *
 * @throws CLASS_NOT_FOUND, and BAD_REQUEST when there is a descriptor without a method
 */
export function callsOf(snapshot: Snapshot, fqn: string, filter: CallFilter) {
  if (filter.descriptor !== undefined && filter.method === undefined) {
    throw fault('BAD_REQUEST', 'descriptor selects an overload and requires method')
  }
  const id = snapshot.getClass(fqn)
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const row = id - slice.firstClass
  const returns =
    filter.inMethodsReturning === undefined ? undefined : returnTypes(snapshot, filter.inMethodsReturning)
  const annotated =
    filter.inMethodsAnnotated === undefined ? undefined : methodsWith(snapshot, filter.inMethodsAnnotated)
  const code = filter.synthetic ? AS_COMPILED : WrittenCode.of(snapshot)
  const isFiltered = returns !== undefined || annotated !== undefined
  const calls = new CallList(snapshot, id, code, {
    references: filter.includeLambdas,
    lambdas: filter.includeLambdas || !isFiltered,
  })
  // Code that counts for no method counts for the class, as its static initializer does.
  const ofClass = { method: CLASS_ITSELF, methodName: '<clinit>', descriptor: '()V' }
  const methods = rows(facts.classes.firstMethod, row)
    .filter((method) => !code.isMade(id, method))
    .map((method) => ({
      method,
      methodName: facts.strings.get(facts.methods.name[method] ?? 0),
      descriptor: facts.strings.get(facts.methods.descriptor[method] ?? 0),
    }))
    .concat(isFiltered || calls.of(CLASS_ITSELF).length === 0 ? [] : [ofClass])
    .filter(({ methodName }) => filter.method === undefined || methodName === filter.method)
    .filter(({ descriptor }) => filter.descriptor === undefined || descriptor === filter.descriptor)
    .filter(({ method }) => returns?.[slice.digest.methods.returns[method] ?? -1] !== 0)
    .filter(({ method }) => annotated === undefined || isAnnotated(facts, row, method, id, annotated))
    .map(({ method, methodName, descriptor }) => ({ methodName, descriptor, calls: calls.of(method) }))
    .filter((each) => filter.method !== undefined || each.calls.length > 0)
  return {
    fqn: snapshot.fqnOf(id),
    methods,
    totalCount: methods.length,
    totalCalls: methods.reduce((sum, each) => sum + each.calls.length, 0),
  }
}

/** The compiler copies a method's annotations to the body of its lambda, which is not a source method. */
function isAnnotated(
  facts: Facts,
  row: number,
  method: number,
  id: number,
  annotated: ReadonlySet<string>,
): boolean {
  return annotated.has(methodKey(id, method)) && !WrittenMethods.of(facts, row).isLambdaBody(method)
}

/** Calls in the methods of a class, with those of the compiler's code that counts for them. */
class CallList {
  readonly #snapshot: Snapshot
  readonly #code: Attribution
  readonly #wants: { readonly references: boolean; readonly lambdas: boolean }
  /** Calls by the row of the method, or CLASS_ITSELF. */
  readonly #byMethod = new Map<number, CallView[]>()
  /** Methods with calls of other methods, or with method references: these are not in order. */
  readonly #unordered = new Set<number>()

  /** @param wants whether method references, and calls in lambdas count */
  constructor(
    snapshot: Snapshot,
    id: number,
    code: Attribution,
    wants: { readonly references: boolean; readonly lambdas: boolean },
  ) {
    this.#snapshot = snapshot
    this.#code = code
    this.#wants = wants
    for (const part of code.sharersFor(id)) this.#add(part, id)
  }

  /** Returns the calls that count for a method, in the order of lines if some are in other methods. */
  of(method: number): readonly CallView[] {
    const found = this.#byMethod.get(method) ?? []
    if (!this.#unordered.has(method)) return found
    return found.toSorted((a, b) => (a.lineNumber ?? 0) - (b.lineNumber ?? 0))
  }

  #add(classId: number, id: number): void {
    const slice = this.#snapshot.index.sliceOf(classId)
    const facts = this.#snapshot.facts(slice)
    const own = WrittenMethods.of(facts, classId - slice.firstClass)
    for (const method of inOrder(facts, classId - slice.firstClass)) {
      const places = this.#code.placesOf(classId, method).filter((place) => place.classId === id)
      // The call of an accessor shows what it calls, with its arguments.
      if (places.length === 0 || (classId !== id && this.#isAccessor(classId, facts, method))) continue
      const found = [
        ...rows(facts.methods.firstCall, method)
          .filter((call) => !this.#code.isDelegation(classId, method, call))
          .filter((call) => this.#code === AS_COMPILED || !own.isOfPart(call))
          .flatMap((call) => this.#callView(facts, call)),
        ...rows(facts.methods.firstDynamicCall, method)
          .filter((each) => this.#wants.references && own.isMethodReference(each))
          .map((each) => referenceView(facts, each)),
      ]
      for (const place of places) {
        const isDirect = place.classId === classId && place.method === method
        if (place.isInLambda && !this.#wants.lambdas) continue
        const others = this.#byMethod.get(place.method) ?? []
        this.#byMethod.set(place.method, others)
        if (!isDirect || this.#wants.references) this.#unordered.add(place.method)
        for (const call of found)
          others.push({
            ...call,
            lineNumber: place.line ?? call.lineNumber,
            ...(place.isInLambda && { via: 'lambda' }),
          })
      }
    }
  }

  /** Whether a method is the compiler's, in a class that somebody wrote, and its calls stand for that of another. */
  #isAccessor(classId: number, { methods, strings }: Facts, method: number): boolean {
    const { index } = this.#snapshot
    if (index.isMade(classId)) return false
    const own = {
      owner: index.nameOf(classId),
      name: strings.get(methods.name[method] ?? 0),
      descriptor: strings.get(methods.descriptor[method] ?? 0),
    }
    const called = this.#code.calledAs(own)
    return called !== own && called.descriptor.startsWith('(')
  }

  /** Describes a call; none if it only accesses a field by a method that a compiler made. */
  #callView(facts: Facts, call: number): readonly CallView[] {
    const { calls, strings } = facts
    const named = {
      owner: strings.get(calls.owner[call] ?? 0),
      name: strings.get(calls.name[call] ?? 0),
      descriptor: strings.get(calls.descriptor[call] ?? 0),
    }
    const called = this.#code.calledAs(named)
    if (called === named) return [callView(facts, call)]
    if (!called.descriptor.startsWith('(')) return []
    const { owner, name: methodName, descriptor, receivers = 0 } = called
    const view = callView(facts, call)
    const count = typesOfMethod(descriptor).parameters.length
    const constantArgs = view.constantArgs
      .map((each) => ({ ...each, index: each.index - receivers }))
      .filter(({ index }) => index >= 0 && index < count)
    return [{ ...view, ownerType: toFqn(owner), methodName, descriptor, constantArgs }]
  }
}

/** Returns the key of a method by its row of strings. */
function keyOf(name: number | undefined, descriptor: number | undefined): string {
  return `${name}:${descriptor}`
}

/** Returns the methods of a class, bodies of lambdas in the order of their lambdas: javac writes them in the reverse one. */
function inOrder({ classes, methods, dynamicCalls }: Facts, row: number): readonly number[] {
  const all = rows(classes.firstMethod, row)
  const lambdas = new Map<string, number>()
  for (const at of all.flatMap((method) => rows(methods.firstDynamicCall, method))) {
    const key = keyOf(dynamicCalls.handleName[at], dynamicCalls.handleDescriptor[at])
    if (!lambdas.has(key)) lambdas.set(key, at)
  }
  const rankOf = (method: number): number =>
    lambdas.get(keyOf(methods.name[method], methods.descriptor[method])) ?? -1
  return all.toSorted((a, b) => rankOf(a) - rankOf(b))
}

function callView(facts: Facts, call: number): CallView {
  const { calls, strings } = facts
  return {
    ownerType: toFqn(strings.get(calls.owner[call] ?? 0)),
    methodName: strings.get(calls.name[call] ?? 0),
    descriptor: strings.get(calls.descriptor[call] ?? 0),
    isInterface: calls.isInterface[call] === 1,
    constantArgs: rows(calls.firstArgument, call).map((each) => constantArg(facts, each)),
    lineNumber: lineOf(calls.line[call]),
  }
}

function referenceView(facts: Facts, dynamicCall: number): CallView {
  const { dynamicCalls, strings } = facts
  return {
    ownerType: toFqn(strings.get(dynamicCalls.handleOwner[dynamicCall] ?? 0)),
    methodName: strings.get(dynamicCalls.handleName[dynamicCall] ?? 0),
    descriptor: strings.get(dynamicCalls.handleDescriptor[dynamicCall] ?? 0),
    isInterface: dynamicCalls.handleIsInterface[dynamicCall] === 1,
    constantArgs: [],
    lineNumber: lineOf(dynamicCalls.line[dynamicCall]),
    via: 'methodRef',
  }
}

function constantArg(facts: Facts, row: number): ConstantArg {
  const { kind, value, high, index } = facts.arguments
  const name =
    (Object.keys(CONSTANT) as (keyof typeof CONSTANT)[]).find((each) => CONSTANT[each] === kind[row]) ?? 'INT'
  return {
    kind: name,
    value: constantValue(facts, name, value[row] ?? 0, high[row] ?? 0),
    index: index[row] ?? 0,
  }
}

/**
 * Returns a constant for JSON: text for a LONG that is not a safe integer and for numbers that JSON lacks.
 */
function constantValue(
  facts: Facts,
  kind: keyof typeof CONSTANT,
  low: number,
  high: number,
): string | number {
  if (kind === 'INT') return low
  if (kind === 'FLOAT') return finiteOrText(floatOf(low))
  if (kind === 'DOUBLE') return finiteOrText(doubleOf(low, high))
  const text = kind === 'LONG' ? String(longOf(low, high)) : facts.strings.get(low)
  if (kind === 'LONG') return Number.isSafeInteger(Number(text)) ? Number(text) : text
  return kind === 'CLASS' ? toFqn(text) : text
}

function finiteOrText(value: number): string | number {
  return Number.isFinite(value) && !Object.is(value, -0)
    ? value
    : Object.is(value, -0)
      ? '-0.0'
      : String(value)
}
