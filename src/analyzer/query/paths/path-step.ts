import { type Facts, rows } from '../../bytecode/facts.ts'
import { isMetafactory, WrittenMethods } from '../../bytecode/written-methods.ts'
import type { Caller } from '../calls/callers.ts'
import { lineOf, simpleNameOf, toFqn } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import type { CallGraph, Receivers } from './call-graph.ts'
import type { ScopedCalls } from './scoped-calls.ts'

/** A call in a path. */
export interface PathStep extends Caller {
  /** "direct call", "override of shop.Priced#cents, in a lambda", "method reference" … */
  readonly reason: string
  readonly calleeFqn: string
  readonly calleeSource: string
  readonly calleeName: string
}

/** Ends the reason of a call in the body of a lambda. */
export const IN_LAMBDA = ', in a lambda'

/** A method on the class path. */
export interface MethodView {
  readonly fqn: string
  readonly source: string
  readonly name: string
  readonly descriptor: string
}

/** Describes a method of the graph. */
export function viewOfMethod(snapshot: Snapshot, graph: CallGraph, method: number): MethodView {
  const { slice, classId, row } = graph.placeOf(method)
  const { methods, strings } = snapshot.facts(slice)
  return {
    fqn: snapshot.fqnOf(classId),
    source: slice.source,
    name: strings.get(methods.name[row] ?? 0),
    descriptor: strings.get(methods.descriptor[row] ?? 0),
  }
}

/** Describes a method as the caller of a step. */
export function callerFields({ fqn, source, name, descriptor }: MethodView) {
  return {
    classFqn: fqn,
    classSimpleName: simpleNameOf(fqn),
    classSource: source,
    methodName: name,
    methodDescriptor: descriptor,
  }
}

/** Describes a method as the callee of a step. */
export function calleeFields({ fqn, source, name, descriptor }: MethodView) {
  return { calleeFqn: fqn, calleeSource: source, calleeName: name, descriptor }
}

/** Describes the calls of paths. */
export class StepView {
  readonly #snapshot: Snapshot
  readonly #graph: CallGraph
  readonly #calls: ScopedCalls
  readonly #receivers = new Map<number, Receivers>()

  constructor(snapshot: Snapshot, graph: CallGraph, calls: ScopedCalls) {
    this.#snapshot = snapshot
    this.#graph = graph
    this.#calls = calls
  }

  /** Describes the first call of a method by another; one that names the method itself comes first. */
  *stepOf(caller: number, callee: number): Generator<void, PathStep> {
    const { from, to, place } = yield* this.#calls.callBetween(caller, callee)
    const { slice, classId, row } = this.#graph.placeOf(from)
    const facts = this.#snapshot.facts(slice)
    const { owners, ...compiled } = yield* this.#calleeView(to)
    const { owners: _, ...described } =
      to === callee ? { owners, ...compiled } : yield* this.#calleeView(callee)
    const called = callsOf(facts, classId - slice.firstClass, row).filter(
      (call) => call.name === compiled.calleeName && call.descriptor === compiled.descriptor,
    )
    const on = (types: ReadonlySet<number>) =>
      called.find(({ owner }) => types.has(this.#snapshot.index.names.find(owner) ?? -1))
    const call = on(owners.inheriting) ?? on(owners.dispatching)
    if (call === undefined) throw new Error(`method ${from} does not call ${to}`)
    const isOverride = on(owners.inheriting) === undefined
    const isInLambda = place?.isInLambda === true
    return {
      ...callerFields(viewOfMethod(this.#snapshot, this.#graph, caller)),
      ownerType: toFqn(call.owner),
      lineNumber: place?.line ?? lineOf(call.line),
      via: isInLambda ? 'lambda' : call.via,
      reason: `${reasonOf(call, isOverride)}${isInLambda ? IN_LAMBDA : ''}`,
      ...described,
    }
  }

  *#calleeView(callee: number) {
    const { names } = this.#snapshot.index
    const unread = this.#calls.findUnread(callee)
    if (unread !== undefined) {
      const { owner, name, descriptor } = unread
      const owners: Receivers = { inheriting: new Set([owner]), dispatching: new Set() }
      const calleeFqn = toFqn(names.get(owner))
      return { owners, calleeFqn, calleeSource: 'UNKNOWN', calleeName: names.get(name), descriptor }
    }
    const owners = this.#receivers.get(callee) ?? (yield* this.#graph.receiversOf(callee))
    this.#receivers.set(callee, owners)
    return { owners, ...calleeFields(viewOfMethod(this.#snapshot, this.#graph, callee)) }
  }
}

/** A call, lambda or method reference in code. */
export interface FoundCall {
  readonly owner: string
  readonly name: string
  readonly descriptor: string
  readonly line: number | undefined
  readonly via: Caller['via']
}

/** Returns the calls, lambdas and method references in a method, in the order of lines. */
export function callsOf(facts: Facts, classRow: number, method: number): readonly FoundCall[] {
  const { methods, calls, dynamicCalls, strings } = facts
  const text = (id = 0): string => strings.get(Math.max(0, id))
  const direct = rows(methods.firstCall, method).map((at) => ({
    owner: text(calls.owner[at]),
    name: text(calls.name[at]),
    descriptor: text(calls.descriptor[at]),
    line: calls.line[at],
    via: 'call' as const,
  }))
  const own = WrittenMethods.of(facts, classRow)
  const self = facts.classes.name[classRow]
  const dynamic = rows(methods.firstDynamicCall, method)
    .filter((at) => (dynamicCalls.handleOwner[at] ?? -1) >= 0 && isMetafactory(facts, at))
    .map((at): FoundCall => {
      const { handleOwner, handleName, handleDescriptor, line } = dynamicCalls
      const isLambda = handleOwner[at] === self && !own.isMethodReference(at)
      return {
        owner: text(handleOwner[at]),
        name: text(handleName[at]),
        descriptor: text(handleDescriptor[at]),
        line: line[at],
        via: isLambda ? 'lambda' : 'methodRef',
      }
    })
  return [...direct, ...dynamic].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

/** Explains why a call reaches a method. */
export function reasonOf({ owner, name, via }: FoundCall, isOverride: boolean): string {
  if (via === 'lambda') return 'lambda'
  const override = `override of ${toFqn(owner)}#${name}`
  if (via === 'methodRef') return isOverride ? `method reference, ${override}` : 'method reference'
  return isOverride ? override : 'direct call'
}
