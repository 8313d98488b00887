/** A request that went through the proxy. */
export interface CapturedRequest {
  readonly id: number
  readonly startedMs: number
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly host: string
  readonly subdomain: string
  /** The process that responded; undefined if there was none. */
  readonly process: string | undefined
  /** 499 if the client disconnected before the response started. */
  readonly statusCode: number
  readonly durationMs: number
  /** Time that it waited for its process to start. */
  readonly heldMs: number
  readonly remoteAddress: string
  readonly requestBytes: number
  readonly responseBytes: number
  /** Request headers, without those that authenticate the sender. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** The part that was not stored, so that the request cannot be sent again, such as `its body exceeded 64 KiB`. */
  readonly lost: string | undefined
  /** Id of the request that this one replays. */
  readonly replayOf: number | undefined
}

/** A filter of captured requests. */
export interface RequestFilter {
  readonly subdomain?: string | undefined
  readonly method?: string | undefined
  readonly minStatus?: number | undefined
  readonly maxStatus?: number | undefined
}

/** Returns whether a request matches a filter. */
export function passes(request: CapturedRequest, filter: RequestFilter): boolean {
  return (
    (filter.subdomain === undefined || request.subdomain === filter.subdomain.toLowerCase()) &&
    (filter.method === undefined || request.method === filter.method.toUpperCase()) &&
    (filter.minStatus === undefined || request.statusCode >= filter.minStatus) &&
    (filter.maxStatus === undefined || request.statusCode <= filter.maxStatus)
  )
}

/** Stores the most recent requests in memory. */
export class RequestLog {
  readonly #keep: number
  readonly #listeners = new Set<(request: CapturedRequest) => void>()
  #requests: CapturedRequest[] = []
  #lastId = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  /** Lists the stored requests, oldest first. */
  list(): readonly CapturedRequest[] {
    return this.#requests.slice(-this.#keep)
  }

  find(id: number): CapturedRequest | undefined {
    return this.list().find((request) => request.id === id)
  }

  add(request: Omit<CapturedRequest, 'id'>): void {
    const kept = { id: ++this.#lastId, ...request }
    this.#requests.push(kept)
    // Allows twice as many temporarily, so that not every request shifts all others.
    if (this.#requests.length >= 2 * this.#keep) this.#requests = this.#requests.slice(-this.#keep)
    for (const listener of this.#listeners) listener(kept)
  }

  /** Calls the listener for each completed request. Returns a function that unsubscribes. */
  onRequest(listener: (request: CapturedRequest) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
