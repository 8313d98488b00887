import { randomBytes } from 'node:crypto'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { nameKey } from '../name.ts'

/** Limits on the unanswered requests kept for a listener (threat B5). Beyond them the oldest is forgotten. */
const MAX_REQUESTS = 1_000
const MAX_BYTES = 16 * 1024 * 1024
const EVENT_ID = /^([0-9a-f]{16})\.(\d{1,15})$/

/** An event sent to a listener. */
interface SentEvent {
  /** Ascending within a session. */
  readonly number: number
  readonly json: string
  readonly expiresMs: number
}

/** A request that was sent to a listener. */
interface SentRequest {
  readonly id: string
  readonly workspace: string
}

interface Session {
  readonly id: string
  lastNumber: number
  /** Unanswered requests by workspace and id, oldest first. */
  readonly sent: Map<string, SentEvent>
  bytes: number
  /** Cancels forgetting the session; undefined while its listener is connected. */
  keep: (() => void) | undefined
}

/** A listener's stream, as part of a session that outlives it. */
export interface ListenerStream {
  /** The ID that a client should send as `Last-Event-ID` if it receives no event. */
  readonly lastEventId: string
  /** Events that the listener's previous stream lost, oldest first. */
  readonly missed: readonly { readonly id: string; readonly json: string }[]
  /** Numbers an event; a request is kept until it is answered. Returns the event's ID. */
  readonly add: (json: string, request?: SentRequest) => string
  /** Ends the stream; the session is kept for as long as requests wait for an answer. */
  readonly close: () => void
}

/**
 * Listeners' sessions, one per namespace: which events each listener has received. A stream delivers a prefix of its events, so the
 * ID of the last one received, which the listener sends when it reconnects, separates requests that may be in progress from those
 * that were lost on the way. Only the latter are sent again, so that no request has two handlers.
 */
export class ListenerSessions {
  readonly #requestTimeoutMs: number
  readonly #clock: AlarmClock
  readonly #sessions = new Map<string, Session>()

  constructor(options: { readonly requestTimeoutMs: number; readonly clock: AlarmClock }) {
    this.#requestTimeoutMs = options.requestTimeoutMs
    this.#clock = options.clock
  }

  /**
   * Opens a stream for a namespace's listener: continues the session that its last event ID names, or replaces it.
   *
   * @param lastEventId as the client sent it; unknown IDs are ignored
   */
  open(namespace: string, lastEventId: string | undefined): ListenerStream {
    const [, id, number = ''] = EVENT_ID.exec(lastEventId ?? '') ?? []
    const known = this.#sessions.get(namespace)
    known?.keep?.()
    const session = known !== undefined && known.id === id ? known : createSession()
    session.keep = undefined
    this.#sessions.set(namespace, session)
    const received = session === known ? Number(number) : session.lastNumber
    const nowMs = this.#clock.nowMs()
    const missed = [...session.sent.values()].filter(
      (event) => event.number > received && event.expiresMs > nowMs,
    )
    return {
      lastEventId: eventId(session, received),
      missed: missed.map((event) => ({ id: eventId(session, event.number), json: event.json })),
      add: (json, request) => this.#add(session, json, request),
      close: () => this.#close(namespace, session),
    }
  }

  /** Forgets a request that has its final answer. */
  answered(namespace: string, request: SentRequest): void {
    const session = this.#sessions.get(namespace)
    if (session !== undefined) forget(session, keyOf(request))
  }

  #add(session: Session, json: string, request: SentRequest | undefined): string {
    const number = ++session.lastNumber
    if (request !== undefined) {
      const expiresMs = this.#clock.nowMs() + this.#requestTimeoutMs
      forget(session, keyOf(request))
      session.sent.set(keyOf(request), { number, json, expiresMs })
      session.bytes += json.length
      for (const key of session.sent.keys()) {
        if (session.sent.size <= MAX_REQUESTS && session.bytes <= MAX_BYTES) break
        forget(session, key)
      }
    }
    return eventId(session, number)
  }

  #close(namespace: string, session: Session): void {
    if (this.#sessions.get(namespace) !== session) return
    session.keep = this.#clock.after(this.#requestTimeoutMs, () => {
      if (this.#sessions.get(namespace) === session) this.#sessions.delete(namespace)
    })
  }
}

function createSession(): Session {
  // Random, because IDs of an earlier run of the server must not match.
  return { id: randomBytes(8).toString('hex'), lastNumber: 0, sent: new Map(), bytes: 0, keep: undefined }
}

function forget(session: Session, key: string): void {
  session.bytes -= session.sent.get(key)?.json.length ?? 0
  session.sent.delete(key)
}

function eventId(session: Session, number: number): string {
  return `${session.id}.${number}`
}

function keyOf({ workspace, id }: SentRequest): string {
  return `${nameKey(workspace)} ${id}`
}
