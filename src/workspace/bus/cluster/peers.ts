import type { Clock } from '../../../lib/clock/clock.ts'

/** Another server of the bus, as it last announced itself. */
export interface Peer {
  readonly server: string
  /** Changes with every start of that server. */
  readonly instance: string
  /** Namespaces with a listener there, and since when. */
  readonly listeners: ReadonlyMap<string, Date>
}

/** The other servers of the cluster. A server that has been silent for too long is dropped. */
export class Peers {
  readonly #silenceMs: number
  readonly #clock: Clock
  readonly #peers = new Map<string, { readonly peer: Peer; readonly atMs: number }>()

  /** @param silenceMs silence after which a server is dropped */
  constructor(silenceMs: number, clock: Clock) {
    this.#silenceMs = silenceMs
    this.#clock = clock
  }

  /** Records an announcement. Returns whether the server is new or has restarted. */
  update(peer: Peer): boolean {
    const before = this.#find(peer.server)
    this.#peers.set(peer.server, { peer, atMs: this.#clock.nowMs() })
    return before?.instance !== peer.instance
  }

  forget(server: string): void {
    this.#peers.delete(server)
  }

  clear(): void {
    this.#peers.clear()
  }

  all(): readonly Peer[] {
    return [...this.#peers.keys()].flatMap((server) => this.#find(server) ?? [])
  }

  /** Returns the server that listens to a namespace. */
  listening(namespace: string): Peer | undefined {
    for (const server of this.#peers.keys()) {
      const peer = this.#find(server)
      if (peer?.listeners.has(namespace) === true) return peer
    }
    return undefined
  }

  #find(server: string): Peer | undefined {
    const entry = this.#peers.get(server)
    if (entry === undefined) return undefined
    if (this.#clock.nowMs() - entry.atMs <= this.#silenceMs) return entry.peer
    this.#peers.delete(server)
    return undefined
  }
}
