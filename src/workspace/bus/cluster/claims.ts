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

/** How long the others may take to say whether a namespace is free. One that is silent for longer holds up nobody. */
const REPLY_MS = 1_000
/** How long after coming a server waits for the others to tell of themselves, before it claims something. */
const JOIN_MS = 300
/** How long one that was granted something may take to say that it listens. */
const GRANT_MS = 2 * REPLY_MS

/** How long one that was in another's way waits, and how often it tries. */
const [RETRY_MS, MAX_ATTEMPTS] = [30, 20]

/** Who stands against a claim: it listens already, or has claimed the same. */
interface Rival {
  readonly server: string
  readonly isHeld: boolean
}

/** Which server may listen to a namespace: each asks all others, and of two that ask at once one yields. */
export class Claims {
  readonly #server: string
  readonly #peers: Peers
  readonly #isHeld: (namespace: string) => boolean
  readonly #clock: Clock
  readonly #pending = new Map<string, Claim>()
  /** By namespace: who was told that it is free, and until when that holds. */
  readonly #granted = new Map<string, { readonly server: string; readonly untilMs: number }>()
  #joined: Promise<void> = Promise.resolve()

  /** @param isHeld whether a listener of this server has it */
  constructor(server: string, peers: Peers, isHeld: (namespace: string) => boolean, clock: Clock) {
    this.#server = server
    this.#peers = peers
    this.#isHeld = isHeld
    this.#clock = clock
  }

  /** The connection is there, and the others do not know of this server yet. */
  joined(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, JOIN_MS).unref()
    this.#joined = promise
  }

  isPending(namespace: string): boolean {
    return this.#pending.has(namespace)
  }

  /** Resolves once no other server stands against it. @throws NAMESPACE_ALREADY_REGISTERED */
  async make(nats: NatsConnection, namespace: string): Promise<void> {
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
        const against = await this.#whoIsAgainst(nats, claim)
        if (against === undefined) return
        nats.publish(SUBJECTS.claim, claimToWire({ ...claim, isWithdrawn: true }))
        if (against.isHeld || attempt === MAX_ATTEMPTS)
          throw fault(
            'NAMESPACE_ALREADY_REGISTERED',
            `namespace "${namespace}" has a listener already, on server "${against.server}"`,
          )
        // Of three that ask at once each may stand in another's way.
        await delay(RETRY_MS * (0.5 + Math.random()))
      }
    } finally {
      this.#pending.delete(namespace)
    }
  }

  async #whoIsAgainst(nats: NatsConnection, claim: Claim): Promise<Rival | undefined> {
    const listening = this.#peers.listening(claim.namespace)
    if (listening !== undefined) return { server: listening.server, isHeld: true }
    const granted = this.#grantedTo(claim.namespace)
    return granted === undefined ? this.#askAll(nats, claim) : { server: granted, isHeld: false }
  }

  /** A server tells what it listens to: what it was granted shows there, or it wants it no more. */
  kept({ server, listeners, isLeaving }: Hello): void {
    for (const [namespace, granted] of this.#granted)
      if (granted.server === server && (isLeaving || listeners.has(namespace)))
        this.#granted.delete(namespace)
  }

  /** Answers another server's claim. */
  hear(text: string, message: Msg): void {
    const claim = claimFromWire(text)
    if (claim === undefined) return
    const { server, namespace } = claim
    if (claim.isWithdrawn) {
      if (this.#grantedTo(namespace) === server) this.#granted.delete(namespace)
      return
    }
    const stand = this.#standOn(claim)
    if (stand === 'free') this.#granted.set(namespace, { server, untilMs: this.#clock.nowMs() + GRANT_MS })
    message.respond(claimReplyToWire({ server: this.#server, stand }))
  }

  #standOn(claim: Claim): ClaimReply['stand'] {
    const own = this.#pending.get(claim.namespace)
    if (this.#isHeld(claim.namespace)) return 'held'
    if (own !== undefined && isBefore(own, claim)) return 'claimed'
    const granted = this.#grantedTo(claim.namespace)
    return granted === undefined || granted === claim.server ? 'free' : 'claimed'
  }

  /** The first that is said to stand against it; undefined once all others have said that nobody does. */
  #askAll(nats: NatsConnection, claim: Claim): Promise<Rival | undefined> {
    const waiting = new Set(this.#peers.all().map(({ server }) => server))
    if (waiting.size === 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const settle = (rival: Rival | undefined): void => {
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
          if (reply.stand !== 'free') settle({ server: reply.server, isHeld: reply.stand === 'held' })
          else if (waiting.size === 0) settle(undefined)
        },
      })
      const timer = setTimeout(() => settle(undefined), REPLY_MS)
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
