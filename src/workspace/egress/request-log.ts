import type { EgressRefusal, EgressTarget } from './rules.ts'

const MAX_ENTRIES = 500
const MAX_PATH_LENGTH = 300

/** Why a request did not reach a server: no rule allows it, it is not valid, or the server failed. */
export type EgressFailure = EgressRefusal | 'request' | 'tls' | 'credential' | 'server'

/** One request of a workspace. It contains no query, header or body, which may contain secrets. */
export interface EgressEntry extends EgressTarget {
  readonly at: Date
  /** '' for a connection that was refused before its request. */
  readonly method: string
  /** Without the query; '' for a connection. */
  readonly path: string
  readonly outcome: 'allowed' | 'refused' | 'failed'
  readonly reason: EgressFailure | undefined
  /** Status of the response; undefined if there was none. */
  readonly status: number | undefined
  /** Name of the secret that was added. */
  readonly secret: string | undefined
}

/** The last requests of one workspace. */
export class EgressLog {
  #entries: EgressEntry[] = []
  readonly #followers = new Set<(entry: EgressEntry) => void>()

  /** Entries, oldest first. */
  get entries(): readonly EgressEntry[] {
    return this.#entries
  }

  add(entry: EgressEntry): void {
    const bounded = { ...entry, path: entry.path.slice(0, MAX_PATH_LENGTH) }
    this.#entries.push(bounded)
    // Dropped in blocks, because shifting every time would move all entries.
    if (this.#entries.length >= 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES)
    for (const follower of this.#followers) follower(bounded)
  }

  /** Calls the follower with each new entry. Returns a function that ends it. */
  follow(follower: (entry: EgressEntry) => void): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}

/** A rule that a policy could contain, as written in the configuration. */
export interface SuggestedRule extends EgressTarget {
  readonly methods: readonly string[]
  readonly paths: readonly string[]
}

const MAX_PATHS = 20

/** Proposes rules that would have allowed the refused requests, for a person to narrow and approve. */
export function suggestRules(entries: readonly EgressEntry[]): readonly SuggestedRule[] {
  const byTarget = new Map<string, { target: EgressTarget; methods: Set<string>; paths: Set<string> }>()
  for (const { scheme, host, port, method, path, outcome } of entries) {
    if (outcome !== 'refused' || host === '') continue
    const key = `${scheme}://${host}:${port}`
    const group = byTarget.get(key) ?? {
      target: { scheme, host, port },
      methods: new Set(),
      paths: new Set(),
    }
    byTarget.set(key, group)
    if (method !== '') group.methods.add(method)
    if (path !== '') group.paths.add(path)
  }
  return [...byTarget.values()].map(({ target, methods, paths }) => ({
    ...target,
    methods: [...methods].toSorted(),
    // Many paths are one interface; a person can narrow it.
    paths: paths.size > MAX_PATHS ? [] : [...paths].toSorted(),
  }))
}
