import { ACC } from '../../bytecode/access-flags.ts'
import type { Snapshot } from '../snapshot.ts'
import { CLASS_ITSELF, type Place } from '../written/attribution.ts'
import { WrittenCode } from '../written/written-code.ts'
import type { CallGraph, CallScope } from './call-graph.ts'
import type { CallerLookup, CallGroup } from './find-paths.ts'
import { partsOf, partsOfReceiver, receiverOf } from './slice-calls.ts'

/** A method that calls name, but that is not on the class path. */
export interface UnreadMethod {
  /** Ids of names. */
  readonly owner: number
  readonly name: number
  readonly descriptor: string
}

interface Group extends CallGroup {
  readonly callers: number[]
}

/** A call as it was compiled. */
interface CompiledCall {
  readonly from: number
  readonly to: number
  /** Where the code of `from` counts; undefined for itself. */
  readonly place: Place | undefined
}

interface WrittenCallers {
  readonly written: CallGroup
  /** The compiler's methods that pass on the calls of others. */
  readonly passingOn: readonly number[]
}

/** First number of methods that are not on the class path. */
const FIRST_UNREAD = 2 ** 40

/** Written callers of methods in the code that a search covers: the project's, the sources', or all. */
export class ScopedCalls implements CallerLookup {
  readonly #snapshot: Snapshot
  readonly #graph: CallGraph
  readonly #scope: CallScope
  readonly #sources: ReadonlySet<number>
  readonly #targets: ReadonlySet<number>
  readonly #code: WrittenCode
  readonly #written = new Map<CallGroup, WrittenCallers>()
  readonly #unread: { readonly method: UnreadMethod; readonly group: Group }[] = []
  /** Calls by signature, then by owner and whether they are dispatched. */
  readonly #bySignature = new Map<number, ReadonlyMap<number, Group>>()

  constructor(
    snapshot: Snapshot,
    graph: CallGraph,
    sources: ReadonlySet<number>,
    targets: ReadonlySet<number>,
    { includeLibraries }: { readonly includeLibraries: boolean },
  ) {
    this.#snapshot = snapshot
    this.#graph = graph
    this.#sources = sources
    this.#targets = targets
    this.#code = WrittenCode.of(snapshot)
    const slices = new Set(Array.from(sources, (source) => graph.placeOf(source).slice))
    this.#scope = { includeLibraries, slices }
  }

  *groupsOf(method: number): Generator<void, readonly CallGroup[]> {
    const found: CallGroup[] = []
    // A set's iteration includes the methods that are added meanwhile.
    const reached = new Set([method])
    for (const each of reached)
      for (const group of yield* this.#compiledGroupsOf(each)) {
        const { written, passingOn } = this.#writtenCallersOf(group)
        found.push(written)
        for (const alias of passingOn) reached.add(alias)
      }
    return found
  }

  /**
   * Returns the call by which a written method calls another: the method that contains it, the one that it calls,
   * and the place for which it counts.
   */
  *callBetween(caller: number, callee: number): Generator<void, CompiledCall> {
    let found: CompiledCall | undefined
    const reached = new Set([callee])
    for (const to of reached)
      for (const group of yield* this.#compiledGroupsOf(to)) {
        if (group.callers.includes(caller)) return { from: caller, to, place: undefined }
        for (const alias of this.#writtenCallersOf(group).passingOn) reached.add(alias)
        for (const from of found === undefined ? group.callers : []) {
          const place = this.#placesOf(from).find((each) => this.#methodAt(each) === caller)
          if (place !== undefined) found = { from, to, place }
        }
      }
    if (found === undefined) throw new Error(`method ${caller} does not call ${callee}`)
    return found
  }

  /** Replaces the compiler's methods among callers by written ones, or by those that they pass calls on for. */
  #writtenCallersOf(group: CallGroup): WrittenCallers {
    let known = this.#written.get(group)
    if (known !== undefined) return known
    const callers = new Set<number>()
    const passingOn: number[] = []
    for (const caller of group.callers) {
      if (!this.#isMade(caller)) {
        callers.add(caller)
        continue
      }
      const { classId, row } = this.#graph.placeOf(caller)
      const places = this.#placesOf(caller)
      if (this.#code.isAlias(classId, row) || places.some(({ method }) => method === CLASS_ITSELF))
        passingOn.push(caller)
      else for (const place of places) callers.add(this.#methodAt(place))
    }
    known = { written: { callers: [...callers] }, passingOn }
    this.#written.set(group, known)
    return known
  }

  /** Whether a compiler made a method; not if a search starts or ends at it. */
  #isMade(method: number): boolean {
    if (this.#sources.has(method) || this.#targets.has(method)) return false
    if ((this.#graph.flagsOf(method) & ACC.SYNTHETIC) !== 0) return true
    return this.#snapshot.index.isMade(this.#graph.placeOf(method).classId)
  }

  #placesOf(method: number): readonly Place[] {
    if (!this.#isMade(method)) return []
    const { classId, row } = this.#graph.placeOf(method)
    return this.#code.placesOf(classId, row)
  }

  #methodAt({ classId, method }: Place): number {
    return method === CLASS_ITSELF
      ? CLASS_ITSELF
      : this.#graph.firstMethodOf(this.#snapshot.index.sliceOf(classId)) + method
  }

  *#compiledGroupsOf(method: number): Generator<void, readonly CallGroup[]> {
    const unread = this.#unread[method - FIRST_UNREAD]
    if (unread !== undefined) return [unread.group]
    const { inheriting, dispatching } = yield* this.#graph.receiversOf(method)
    const groups = yield* this.#callsOf(this.#graph.signatureOf(method))
    if (groups.size < dispatching.size) {
      const isOfMethod = (receiver: number): boolean => {
        const { owner, isDispatched } = partsOfReceiver(receiver)
        return (isDispatched ? dispatching : inheriting).has(owner)
      }
      return [...groups].flatMap(([receiver, group]) => (isOfMethod(receiver) ? [group] : []))
    }
    const receivers = [
      ...Array.from(dispatching, (owner) => receiverOf(owner, true)),
      ...Array.from(inheriting, (owner) => receiverOf(owner, false)),
    ]
    return receivers.flatMap((receiver) => groups.get(receiver) ?? [])
  }

  orderOf(method: number): number {
    return method >= FIRST_UNREAD ? method : this.#graph.orderOf(method)
  }

  /**
   * Adds the called methods of a type that the class path does not have.
   *
   * @param name undefined for all methods
   * @returns their numbers
   */
  *addUnread(owner: number, name: number | undefined): Generator<void, readonly number[]> {
    const added = new Map<number, Group>()
    yield* this.#graph.forEachCallOfName(name, this.#scope, (caller, signature, call) => {
      if (call.owner !== owner || !this.#counts(caller)) return
      const group = added.get(signature) ?? { callers: [] }
      if (group.callers.at(-1) !== caller) group.callers.push(caller)
      added.set(signature, group)
    })
    return Array.from(added, ([signature, group]) => {
      const parts = partsOf(signature)
      const descriptor = this.#graph.descriptorText(parts.descriptor)
      this.#unread.push({ method: { owner, name: parts.name, descriptor }, group })
      return FIRST_UNREAD + this.#unread.length - 1
    })
  }

  /** Returns all calls of a signature. */
  *#callsOf(signature: number): Generator<void, ReadonlyMap<number, Group>> {
    const known = this.#bySignature.get(signature)
    if (known !== undefined) return known
    const groups = new Map<number, Group>()
    yield* this.#graph.forEachCall(signature, this.#scope, (caller, call) => {
      if (!this.#counts(caller)) return
      const receiver = receiverOf(call.owner, call.isDispatched)
      const group = groups.get(receiver)
      if (group === undefined) groups.set(receiver, { callers: [caller] })
      else group.callers.push(caller)
    })
    this.#bySignature.set(signature, groups)
    return groups
  }

  /** Returns a method that is not on the class path, or undefined if it is. */
  findUnread(method: number): UnreadMethod | undefined {
    return this.#unread[method - FIRST_UNREAD]?.method
  }

  #counts(caller: number): boolean {
    if (this.#scope.includeLibraries || this.#sources.has(caller)) return true
    return this.#snapshot.counts(this.#graph.placeOf(caller).classId, false)
  }
}
