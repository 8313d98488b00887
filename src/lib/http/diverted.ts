import type { IncomingMessage } from 'node:http'
import type { Diversion } from './diversion.ts'

/** A route that exists whatever the target is, so that the router neither parses nor refuses a diverted one. */
const ANY_ROUTE = '/'

/** Requests on their way past the router to a diversion, with their targets as they were written. */
export class Diverted {
  readonly #divert: Diversion | undefined
  readonly #targets = new WeakMap<IncomingMessage, string>()

  constructor(divert: Diversion | undefined) {
    this.#divert = divert
  }

  /** Returns the target to find a route by. */
  readonly route = (request: IncomingMessage): string => {
    const { url = ANY_ROUTE } = request
    if (this.#divert?.isFor(request) !== true) return url
    this.#targets.set(request, url)
    return ANY_ROUTE
  }

  /** Gives a diverted request its target back, and returns who answers it; undefined for all others. */
  restore(request: IncomingMessage): Diversion | undefined {
    const target = this.#targets.get(request)
    if (target === undefined) return undefined
    request.url = target
    return this.#divert
  }

  has(request: IncomingMessage): boolean {
    return this.#targets.has(request)
  }
}
