import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../../lib/clock/clock.ts'
import { fault } from '../../errors.ts'
import type { Peers } from './peers.ts'
import {
  type Claim,
  claimFromWire,
  type ClaimReply,
  claimReplyFromWire,
  claimReplyToWire,
  claimToWire,
  type Hello,
  isBefore,
  SUBJECTS,
} from './wire.ts'

/**
 * How long to wait for other servers' replies to a claim. A server that is silent for longer blocks nobody.
 */
const REPLY_MS = 1_000
/** How long a joining server waits for the others' announcements before it claims anything. */
const JOIN_MS = 300
/** How long a granted claim stays reserved until the server announces its listener. */
const GRANT_MS = 2 * REPLY_MS

/** Delay between attempts after a conflict, and number of attempts. */
const [RETRY_MS, MAX_ATTEMPTS] = [30, 20]

/** A server that opposes a claim because it already listens, or has claimed the same namespace. */
interface Rival {
  readonly server: string
  readonly isHeld: boolean
}

/**
 * Decides which server may listen to a namespace: a server asks all others, and of two concurrent claims one
 * yields.
 */
export class Claims {
  readonly #server: string
  readonly #peers: Peers
  readonly #isHeld: (namespace: string) => boolean
  readonly #clock: Clock
  readonly #pending = new Map<string, Claim>()
  /** Namespaces granted to other servers, and when each grant expires. */
  readonly #granted = new Map<string, { readonly server: string; readonly untilMs: number }>()
  #joined: Promise<void> = Promise.resolve()

  /** @param isHeld whether a listener of this server has the namespace */
  constructor(server: string, peers: Peers, isHeld: (namespace: string) => boolean, clock: Clock) {
    this.#server = server
    this.#peers = peers
    this.#isHeld = isHeld
    this.#clock = clock
  }

  /** Starts the join delay after connecting: the other servers do not know this one yet. */
  joined(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, JOIN_MS).unref()
    this.#joined = promise
  }

  isPending(namespace: string): boolean {
    return this.#pending.has(namespace)
  }

  /**
   * Claims a namespace; resolves once no other server opposes.
   *
   * @throws NAMESPACE_ALREADY_REGISTERED when another server has it
   */
  async claim(nats: NatsConnection, namespace: string): Promise<void> {
    const claim = {
      server: this.#server,
      namespace,
      since: new Date(this.#clock.wallMs()),
      isWithdrawn: false,
    }
    this.#pending.set(namespace, claim)
    try {
      await this.#joined
      for (let attempt = 1; ; attempt++) {
        const rival = await this.#findRival(nats, claim)
        if (rival === undefined) return
        nats.publish(SUBJECTS.claim, claimToWire({ ...claim, isWithdrawn: true }))
        if (rival.isHeld || attempt === MAX_ATTEMPTS)
          throw fault(
            'NAMESPACE_ALREADY_REGISTERED',
            `namespace "${namespace}" already has a listener on server "${rival.server}"`,
          )
        // Of three concurrent claims, each may oppose another.
        await delay(RETRY_MS * (0.5 + Math.random()))
      }
    } finally {
      this.#pending.delete(namespace)
    }
  }

  async #findRival(nats: NatsConnection, claim: Claim): Promise<Rival | undefined> {
    const listening = this.#peers.listening(claim.namespace)
    if (listening !== undefined) return { server: listening.server, isHeld: true }
    const granted = this.#grantedTo(claim.namespace)
    return granted === undefined ? this.#askAll(nats, claim) : { server: granted, isHeld: false }
  }

  /** Handles an announcement: a granted namespace is now listened to, or no longer wanted. */
  onHello({ server, listeners, isLeaving }: Hello): void {
    for (const [namespace, granted] of this.#granted)
      if (granted.server === server && (isLeaving || listeners.has(namespace)))
        this.#granted.delete(namespace)
  }

  /** Replies to another server's claim. */
  onClaim(text: string, message: Msg): void {
    const claim = claimFromWire(text)
    if (claim === undefined) return
    const { server, namespace } = claim
    if (claim.isWithdrawn) {
      if (this.#grantedTo(namespace) === server) this.#granted.delete(namespace)
      return
    }
    const stand = this.#standFor(claim)
    if (stand === 'free') this.#granted.set(namespace, { server, untilMs: this.#clock.nowMs() + GRANT_MS })
    message.respond(claimReplyToWire({ server: this.#server, stand }))
  }

  #standFor(claim: Claim): ClaimReply['stand'] {
    const own = this.#pending.get(claim.namespace)
    if (this.#isHeld(claim.namespace)) return 'held'
    if (own !== undefined && isBefore(own, claim)) return 'claimed'
    const granted = this.#grantedTo(claim.namespace)
    return granted === undefined || granted === claim.server ? 'free' : 'claimed'
  }

  /** Resolves to the first rival reported; undefined once all others have agreed. */
  #askAll(nats: NatsConnection, claim: Claim): Promise<Rival | undefined> {
    const waiting = new Set(this.#peers.all().map(({ server }) => server))
    if (waiting.size === 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const finish = (rival: Rival | undefined): void => {
        clearTimeout(timer)
        replies.unsubscribe()
        resolve(rival)
      }
      const inbox = `_INBOX.${randomUUID()}`
      const replies = nats.subscribe(inbox, {
        callback: (_error, message) => {
          const reply = claimReplyFromWire(message.string())
          if (reply === undefined) return
          waiting.delete(reply.server)
          if (reply.stand !== 'free') finish({ server: reply.server, isHeld: reply.stand === 'held' })
          else if (waiting.size === 0) finish(undefined)
        },
      })
      const timer = setTimeout(() => finish(undefined), REPLY_MS)
      nats.publish(SUBJECTS.claim, claimToWire(claim), { reply: inbox })
    })
  }

  #grantedTo(namespace: string): string | undefined {
    const granted = this.#granted.get(namespace)
    if (granted === undefined || granted.untilMs > this.#clock.nowMs()) return granted?.server
    this.#granted.delete(namespace)
    return undefined
  }
}
