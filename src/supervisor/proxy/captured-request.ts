/** A request that came through the proxy. */
export interface CapturedRequest {
  readonly id: number
  readonly startedMs: number
  readonly method: string
  /** Path and query, cut at 2,048 characters. */
  readonly url: string
  readonly host: string
  readonly subdomain: string
  /** The process that answered; undefined when none was there for it. */
  readonly process: string | undefined
  /** 499 when the client left before the answer began. */
  readonly statusCode: number
  readonly durationMs: number
  readonly remoteAddress: string
  readonly requestBytes: number
  readonly responseBytes: number
  /** Of the request, without what proves who sent it. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Undefined when it was longer than what is kept. */
  readonly body: Buffer | undefined
  /** The request that this one repeats. */
  readonly replayOf: number | undefined
}

export interface RequestFilter {
  readonly subdomain?: string | undefined
  readonly method?: string | undefined
  readonly minStatus?: number | undefined
  readonly maxStatus?: number | undefined
}

export function passes(request: CapturedRequest, filter: RequestFilter): boolean {
  return (
    (filter.subdomain === undefined || request.subdomain === filter.subdomain.toLowerCase()) &&
    (filter.method === undefined || request.method === filter.method.toUpperCase()) &&
    (filter.minStatus === undefined || request.statusCode >= filter.minStatus) &&
    (filter.maxStatus === undefined || request.statusCode <= filter.maxStatus)
  )
}

/** The last requests, in memory. */
export class RequestLog {
  readonly #keep: number
  readonly #listeners = new Set<(request: CapturedRequest) => void>()
  #requests: CapturedRequest[] = []
  #lastId = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  /** All that are kept, oldest first. */
  list(): readonly CapturedRequest[] {
    return this.#requests.slice(-this.#keep)
  }

  find(id: number): CapturedRequest | undefined {
    return this.list().find((request) => request.id === id)
  }

  add(request: Omit<CapturedRequest, 'id'>): void {
    const kept = { id: ++this.#lastId, ...request }
    this.#requests.push(kept)
    // Twice as many for a moment, so that not every request moves all others.
    if (this.#requests.length >= 2 * this.#keep) this.#requests = this.#requests.slice(-this.#keep)
    for (const listener of this.#listeners) listener(kept)
  }

  /** Calls back for each request that ends. Returns how to end that. */
  onRequest(listener: (request: CapturedRequest) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
