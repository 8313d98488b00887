import type { Clock } from '../../../lib/clock/clock.ts'

/** Another server of the bus, as it last said of itself. */
export interface Peer {
  readonly server: string
  /** Another one after each start. */
  readonly instance: string
  /** By namespace: since when it is listened to there. */
  readonly listeners: ReadonlyMap<string, Date>
}

/** The other servers that are there: one that was not heard of for some time is not. */
export class Peers {
  readonly #silenceMs: number
  readonly #clock: Clock
  readonly #heard = new Map<string, { readonly peer: Peer; readonly atMs: number }>()

  /** @param silenceMs after which a server is gone */
  constructor(silenceMs: number, clock: Clock) {
    this.#silenceMs = silenceMs
    this.#clock = clock
  }

  /** Whether it is new, or has begun anew. */
  hear(peer: Peer): boolean {
    const before = this.#find(peer.server)
    this.#heard.set(peer.server, { peer, atMs: this.#clock.nowMs() })
    return before?.instance !== peer.instance
  }

  forget(server: string): void {
    this.#heard.delete(server)
  }

  clear(): void {
    this.#heard.clear()
  }

  all(): readonly Peer[] {
    return [...this.#heard.keys()].flatMap((server) => this.#find(server) ?? [])
  }

  /** The server that listens to a namespace. */
  listening(namespace: string): Peer | undefined {
    for (const server of this.#heard.keys()) {
      const peer = this.#find(server)
      if (peer?.listeners.has(namespace) === true) return peer
    }
    return undefined
  }

  #find(server: string): Peer | undefined {
    const heard = this.#heard.get(server)
    if (heard === undefined) return undefined
    if (this.#clock.nowMs() - heard.atMs <= this.#silenceMs) return heard.peer
    this.#heard.delete(server)
    return undefined
  }
}
