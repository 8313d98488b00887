import { CONSTANT } from '../../bytecode/columns.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { fault } from '../../errors.ts'
import { doubleOf, floatOf, longOf } from '../annotations/annotation-value.ts'
import { isLambdaBody, isMethodReference, lambdaOwners } from '../../bytecode/lambdas.ts'
import { methodKey, methodsWith } from '../types/methods-search.ts'
import { returnTypes } from '../name-tests.ts'
import { toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'

/** Filter of call sites. */
export interface CallFilter {
  readonly method?: string | undefined
  readonly descriptor?: string | undefined
  readonly inMethodsReturning?: string | undefined
  readonly inMethodsAnnotated?: string | undefined
  /** Includes method references, and attributes calls in lambdas to the enclosing method. */
  readonly includeLambdas: boolean
}

/** A call site. */
export interface CallView {
  readonly ownerType: string
  readonly methodName: string
  readonly descriptor: string
  readonly isInterface: boolean
  readonly constantArgs: readonly ConstantArg[]
  readonly lineNumber: number | null
  /** Set with `includeLambdas` for a method reference or a call in a lambda's body. */
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
  const owners = filter.includeLambdas ? lambdaOwners(facts, row) : new Map<number, number>()
  const methods = rows(facts.classes.firstMethod, row)
    .filter((method) => !owners.has(method))
    .map((method) => ({
      method,
      methodName: facts.strings.get(facts.methods.name[method] ?? 0),
      descriptor: facts.strings.get(facts.methods.descriptor[method] ?? 0),
    }))
    .filter(({ methodName }) => filter.method === undefined || methodName === filter.method)
    .filter(({ descriptor }) => filter.descriptor === undefined || descriptor === filter.descriptor)
    .filter(({ method }) => returns?.[slice.digest.methods.returns[method] ?? -1] !== 0)
    .filter(({ method }) => annotated === undefined || isAnnotated(facts, method, id, annotated))
    .map(({ method, methodName, descriptor }) => ({
      methodName,
      descriptor,
      calls: callsIn(facts, method, filter.includeLambdas ? owners : undefined),
    }))
    .filter(({ calls }) => filter.method !== undefined || calls.length > 0)
  return {
    fqn: snapshot.fqnOf(id),
    methods,
    totalCount: methods.length,
    totalCalls: methods.reduce((sum, { calls }) => sum + calls.length, 0),
  }
}

/** The compiler copies a method's annotations to the body of its lambda, which is not a source method. */
function isAnnotated(facts: Facts, method: number, id: number, annotated: ReadonlySet<string>): boolean {
  return annotated.has(methodKey(id, method)) && !isLambdaBody(facts, method)
}

/**
 * Returns the calls in a method.
 *
 * @param owners methods that contain the lambda bodies; undefined to omit lambdas and method references
 */
function callsIn(
  facts: Facts,
  method: number,
  owners: ReadonlyMap<number, number> | undefined,
): readonly CallView[] {
  const direct = rows(facts.methods.firstCall, method).map((call) => callView(facts, call))
  if (owners === undefined) return direct
  const references = rows(facts.methods.firstDynamicCall, method)
    .filter((each) => isMethodReference(facts, each, owners))
    .map((each) => referenceView(facts, each))
  const inLambdas = [...owners]
    .filter(([, owner]) => owner === method)
    .flatMap(([body]) => [
      ...rows(facts.methods.firstCall, body).map((call) => callView(facts, call)),
      ...rows(facts.methods.firstDynamicCall, body)
        .filter((each) => isMethodReference(facts, each, owners))
        .map((each) => referenceView(facts, each)),
    ])
    .map((call): CallView => ({ ...call, via: 'lambda' }))
  return [...direct, ...references, ...inLambdas].toSorted(
    (a, b) => (a.lineNumber ?? 0) - (b.lineNumber ?? 0),
  )
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

/** Converts a line of the facts to a line number or null. */
export function lineOf(line: number | undefined): number | null {
  return line === undefined || line < 0 ? null : line
}
