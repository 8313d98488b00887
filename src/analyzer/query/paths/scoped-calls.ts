import type { Snapshot } from '../snapshot.ts'
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

/** First number of methods that are not on the class path. */
const FIRST_UNREAD = 2 ** 40

/** Callers of methods in the code that a search covers: the project's, the sources', or all. */
export class ScopedCalls implements CallerLookup {
  readonly #snapshot: Snapshot
  readonly #graph: CallGraph
  readonly #scope: CallScope
  readonly #sources: ReadonlySet<number>
  readonly #unread: { readonly method: UnreadMethod; readonly group: Group }[] = []
  /** Calls by signature, then by owner and whether they are dispatched. */
  readonly #bySignature = new Map<number, ReadonlyMap<number, Group>>()

  constructor(
    snapshot: Snapshot,
    graph: CallGraph,
    sources: ReadonlySet<number>,
    { includeLibraries }: { readonly includeLibraries: boolean },
  ) {
    this.#snapshot = snapshot
    this.#graph = graph
    this.#sources = sources
    const slices = new Set(Array.from(sources, (source) => graph.placeOf(source).slice))
    this.#scope = { includeLibraries, slices }
  }

  *groupsOf(method: number): Generator<void, readonly CallGroup[]> {
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
