/**
 * Calls that reach the same methods, for example those of an interface's method: without groups, each caller
 * would have to be connected to each override. Groups are compared by identity.
 */
export interface CallGroup {
  readonly callers: readonly number[]
}

/** Calls between methods, which are numbers. */
export interface CallerLookup {
  /** Returns the groups of calls that reach a method, in a stable order; yields where it can pause. */
  groupsOf(method: number): Generator<void, readonly CallGroup[]>
  /** Returns the position of a method among others, which orders paths of the same length. */
  orderOf(method: number): number
}

/** Request for the shortest paths from one of some methods to one of others. */
interface PathRequest {
  readonly sources: ReadonlySet<number>
  readonly targets: ReadonlySet<number>
  /** Maximum number of paths. */
  readonly limit: number
  /** Maximum number of calls in a path. */
  readonly maxDepth: number
  /** Maximum number of methods whose callers are looked up. */
  readonly maxVisited: number
  /** Maximum number of calls between these methods. */
  readonly maxCalls: number
  /** Maximum number of calls followed while paths are assembled. */
  readonly maxFollowed: number
}

/**
 * Why a search ended: it found `limit` paths, it saw every path of at most `maxDepth` calls, longer paths may
 * exist, or it reached one of its other bounds.
 */
export type SearchEnd = 'limit' | 'complete' | 'depth' | 'visited' | 'followed'

/** Paths, shortest first, each with all its methods; and the number of methods whose callers were looked up. */
export interface FoundPaths {
  readonly paths: readonly (readonly number[])[]
  readonly visitedCount: number
  readonly end: SearchEnd
}

/**
 * Finds the shortest paths of calls. A path has at least one call and contains no method twice, except that
 * it may end where it starts; sources and targets are only at its ends.
 *
 * Searches breadth-first from the targets to their callers. After level n, all calls in paths of n calls are
 * known, and these paths are assembled before the search goes deeper.
 */
export function* findPaths(calls: CallerLookup, request: PathRequest): Generator<void, FoundPaths> {
  const search = new PathSearch(calls, request)
  yield* search.run()
  return search
}

class PathSearch implements FoundPaths {
  readonly paths: (readonly number[])[] = []
  visitedCount = 0
  end: SearchEnd = 'complete'
  readonly #calls: CallerLookup
  readonly #request: PathRequest
  /** Least number of calls from a method to a target, of methods inside paths and of targets. */
  readonly #distance = new Map<number, number>()
  /** Known groups by caller. */
  readonly #groups = new Map<number, CallGroup[]>()
  /** Methods that a group is known to reach. */
  readonly #reached = new Map<CallGroup, number[]>()
  /** Sorted callees of methods, as known while paths of a length are assembled. */
  readonly #callees = new Map<number, readonly number[]>()
  readonly #path: number[] = []
  #callCount = 0
  #followed = 0

  constructor(calls: CallerLookup, request: PathRequest) {
    this.#calls = calls
    this.#request = request
  }

  *run(): Generator<void, void> {
    const { targets, maxDepth } = this.#request
    for (const target of targets) this.#distance.set(target, 0)
    let level = this.#inOrder(targets)
    for (let length = 1; length <= maxDepth && this.#canGrow(level, length); length++) {
      const next = yield* this.#callersOf(level, length)
      yield* this.#assemble(length)
      if (this.end !== 'complete') return
      level = next
    }
    if (level.length > 0) this.end = 'depth'
  }

  /** Whether paths of a length can exist. */
  #canGrow(level: readonly number[], length: number): boolean {
    if (level.length > 0) return true
    return length <= this.#distance.size + 1 && this.#starts().length > 0
  }

  /** Returns the sources that reach a target. */
  #starts(): readonly number[] {
    return this.#inOrder([...this.#request.sources].filter((source) => this.#groups.has(source)))
  }

  /** Looks up the callers of a level's methods. @returns the next level */
  *#callersOf(level: readonly number[], distance: number): Generator<void, readonly number[]> {
    const { maxVisited, maxCalls } = this.#request
    const next: number[] = []
    for (const callee of level) {
      if (this.visitedCount >= maxVisited || this.#callCount >= maxCalls) {
        this.end = 'visited'
        break
      }
      this.visitedCount++
      yield
      for (const group of yield* this.#calls.groupsOf(callee)) {
        this.#callCount++
        const reached = this.#reached.get(group)
        if (reached !== undefined) reached.push(callee)
        else {
          this.#reached.set(group, [callee])
          this.#addCallers(group, distance, next)
        }
      }
    }
    return next
  }

  #addCallers(group: CallGroup, distance: number, next: number[]): void {
    const { sources, targets } = this.#request
    for (const caller of group.callers) {
      if (targets.has(caller) && !sources.has(caller)) continue
      this.#callCount++
      const groups = this.#groups.get(caller)
      if (groups === undefined) this.#groups.set(caller, [group])
      else groups.push(group)
      if (sources.has(caller) || this.#distance.has(caller)) continue
      this.#distance.set(caller, distance)
      next.push(caller)
    }
  }

  /** Adds the paths of exactly some number of calls. */
  *#assemble(length: number): Generator<void, void> {
    this.#callees.clear()
    for (const start of this.#starts()) {
      this.#path.push(start)
      yield* this.#extend(length)
      this.#path.pop()
    }
  }

  /** Extends the current path by some number of calls. */
  *#extend(left: number): Generator<void, void> {
    const { sources, targets, limit, maxFollowed } = this.#request
    for (const callee of this.#calleesOf(this.#path.at(-1) ?? -1)) {
      if (this.end === 'limit' || this.end === 'followed') return
      if (++this.#followed > maxFollowed) {
        this.end = 'followed'
        return
      }
      yield
      if (targets.has(callee)) {
        if (left === 1) this.paths.push([...this.#path, callee])
        if (this.paths.length >= limit) this.end = 'limit'
        continue
      }
      if (sources.has(callee) || this.#path.includes(callee)) continue
      if ((this.#distance.get(callee) ?? Infinity) >= left) continue
      this.#path.push(callee)
      yield* this.#extend(left - 1)
      this.#path.pop()
    }
  }

  #calleesOf(caller: number): readonly number[] {
    let callees = this.#callees.get(caller)
    if (callees === undefined) {
      const groups = this.#groups.get(caller) ?? []
      callees = this.#inOrder(new Set(groups.flatMap((group) => this.#reached.get(group) ?? [])))
      this.#callees.set(caller, callees)
    }
    return callees
  }

  #inOrder(methods: Iterable<number>): readonly number[] {
    const placed = Array.from(methods, (method) => ({ method, order: this.#calls.orderOf(method) }))
    return placed.toSorted((a, b) => a.order - b.order).map(({ method }) => method)
  }
}
