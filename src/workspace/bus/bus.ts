import { type Envelope, type ReceivedEnvelope, RESERVED, isNamespace } from '../../lib/envelope/envelope.ts'
import { uuidV7 } from '../../lib/envelope/uuid-v7.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { BackendName } from '../backend-name.ts'
import type { BusCounts, BusNews } from './bus-news.ts'
import type { ConnectedGuest, ConnectedWorkspace, GuestMessage } from './guest-message.ts'
import { WaitingRequests } from './waiting-requests.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'

/** How a connected guest is spoken to. */
export interface GuestLink {
  /** False when it cannot be sent. */
  readonly send: (envelope: Envelope) => boolean
}

export interface Listener {
  readonly namespace: string
  readonly createdAt: Date
}

export interface Answer {
  readonly workspaceName: string
  readonly inReplyTo: string
  readonly isFinal: boolean
  readonly payload: Readonly<Record<string, unknown>>
  /** The workspace's, as far as the listener says it. */
  readonly server?: string
}

export interface BusOptions {
  readonly server: string
  readonly requestTimeoutMs: number
  readonly clock: AlarmClock
}

/** Requests of one workspace that wait for their answers at once, and what they hold (threat B5). */
const MAX_PENDING = 1_000
const MAX_PENDING_BYTES = 16 * 1024 * 1024

/** What the bus takes of a guest. */
export interface GuestSide {
  /** @param bytes what the message took on the wire */
  readonly take: (envelope: ReceivedEnvelope, bytes: number) => void
  /** How its extensions fare. */
  readonly heed: (extensions: readonly ExtensionHealth[]) => void
  readonly leave: () => void
}

interface Pending {
  readonly namespace: string
  readonly bytes: number
  readonly cancel: () => void
}

interface Guest {
  readonly workspace: ConnectedWorkspace
  readonly link: GuestLink
  /** Its requests that wait for an answer, by their ids: nobody else's can be answered by them (threat B2). */
  readonly pending: Map<string, Pending>
  pendingBytes: number
  extensions: readonly ExtensionHealth[]
}

type Deliver = (message: GuestMessage) => void

interface Registration extends Listener {
  readonly deliver: Deliver
  readonly onTaken: () => void
}

/**
 * Carries messages between guests and the host's listeners: one listener a namespace, and to each request the answers of that
 * listener alone.
 */
export class Bus {
  readonly #options: BusOptions
  readonly #guests = new Map<string, Guest>()
  readonly #listeners = new Map<string, Registration>()
  readonly #waiting = new WaitingRequests()
  readonly #watchers = new Set<(news: BusNews) => void>()
  #findElsewhere: (namespace: string) => Deliver | undefined = () => undefined
  readonly counts: BusCounts = {
    requests: 0,
    responses: 0,
    events: 0,
    droppedEvents: 0,
    refusedRequests: 0,
    expiredRequests: 0,
    lateResponses: 0,
    strayMessages: 0,
    oversizedMessages: 0,
  }

  constructor(options: BusOptions) {
    this.#options = options
  }

  /** A guest is there; one of the same workspace that was there before is not any more. Returns how it takes leave. */
  connect(name: string, backend: BackendName, link: GuestLink): GuestSide {
    const guest: Guest = {
      workspace: { name, backend, server: this.#options.server },
      link,
      pending: new Map(),
      pendingBytes: 0,
      extensions: [],
    }
    const before = this.#guests.get(nameKey(name))
    if (before !== undefined) this.#forget(before)
    this.#guests.set(nameKey(name), guest)
    return {
      take: (envelope, bytes) => this.#take(guest, envelope, bytes),
      heed: (extensions) => void (guest.extensions = extensions),
      leave: () => {
        this.#forget(guest)
        if (this.#guests.get(nameKey(name)) === guest) this.#guests.delete(nameKey(name))
      },
    }
  }

  workspaces(): readonly ConnectedGuest[] {
    return [...this.#guests.values()].map(({ workspace, extensions }) => ({ ...workspace, extensions }))
  }

  listeners(): readonly Listener[] {
    return [...this.#listeners.values()].map(({ namespace, createdAt }) => ({ namespace, createdAt }))
  }

  /** @throws INVALID_NAMESPACE, NAMESPACE_RESERVED and NAMESPACE_ALREADY_REGISTERED */
  checkFree(namespace: unknown): string {
    const checked = parseNamespace(namespace)
    if (checked.startsWith(RESERVED))
      throw fault(
        'NAMESPACE_RESERVED',
        `namespace "${checked}" is the server's: take one without ${RESERVED}`,
      )
    if (this.#listeners.has(checked))
      throw fault('NAMESPACE_ALREADY_REGISTERED', `namespace "${checked}" has a listener already`)
    return checked
  }

  /**
   * Makes a namespace's messages one listener's, those that have been waiting for one first. Returns how it ends. Throws
   * as `checkFree`.
   *
   * @param onTaken it has ended, because another server's listener was there before
   */
  listen(namespace: unknown, deliver: Deliver, onTaken: () => void = () => undefined): () => void {
    const checked = this.checkFree(namespace)
    const registration = {
      namespace: checked,
      createdAt: new Date(this.#options.clock.wallMs()),
      deliver,
      onTaken,
    }
    this.#listeners.set(checked, registration)
    this.handOn(checked)
    return () => {
      if (this.#listeners.get(checked) === registration) this.#listeners.delete(checked)
    }
  }

  hasListener(namespace: string): boolean {
    return this.#listeners.has(namespace)
  }

  /** Where namespaces are heard that nobody listens to here. */
  lookElsewhere(find: (namespace: string) => Deliver | undefined): void {
    this.#findElsewhere = find
  }

  /** Hands on what has been waiting, now that a namespace is listened to. */
  handOn(namespace: string): void {
    const deliver = this.#listenerOf(namespace)
    if (deliver !== undefined) for (const message of this.#waiting.take(namespace)) deliver(message)
  }

  /** Hands a message of another server's guest to its listener; false when there is none here. */
  deliver(message: GuestMessage): boolean {
    const listener = this.#listeners.get(message.envelope.namespace)
    if (listener === undefined) this.counts.strayMessages++
    listener?.deliver(message)
    return listener !== undefined
  }

  /** Ends a namespace's listener in favour of another server's. */
  giveUp(namespace: string): void {
    const listener = this.#listeners.get(namespace)
    this.#listeners.delete(namespace)
    listener?.onTaken()
  }

  /** Tells every message that passes or is lost from now on. Their payloads may be secrets (threat W12). Returns how it ends. */
  watch(watcher: (news: BusNews) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Requests that wait for an answer now. */
  get pendingRequests(): number {
    return [...this.#guests.values()].reduce((sum, { pending }) => sum + pending.size, 0)
  }

  /**
   * Sends an answer to the workspace that asked. One that nobody waits for any more is counted and dropped. Throws
   * INVALID_NAMESPACE and WORKSPACE_NOT_CONNECTED.
   */
  respond(namespaceInput: unknown, { workspaceName, inReplyTo, isFinal, payload }: Answer): void {
    const namespace = parseNamespace(namespaceInput)
    const guest = this.#guests.get(nameKey(workspaceName))
    if (guest === undefined)
      throw fault(
        'WORKSPACE_NOT_CONNECTED',
        `workspace "${workspaceName.slice(0, 80)}" is not connected to the bus`,
      )
    const nowMs = this.#options.clock.wallMs()
    const timestamp = new Date(nowMs).toISOString()
    const envelope: Envelope = {
      id: uuidV7(nowMs),
      namespace,
      type: 'response',
      inReplyTo,
      isFinal,
      timestamp,
      payload,
    }
    const isWaitedFor = guest.pending.get(inReplyTo)?.namespace === namespace
    if (isWaitedFor && isFinal) this.#settle(guest, inReplyTo)
    const isSent = isWaitedFor && guest.link.send(envelope)
    if (isSent) this.counts.responses++
    else this.counts.lateResponses++
    this.#tell(guest, envelope, isSent ? undefined : 'late')
  }

  #take(guest: Guest, envelope: ReceivedEnvelope, bytes: number): void {
    // Guests answer nothing; and the namespaces of the server are heeded before they come here.
    if (envelope.type === 'response' || envelope.namespace.startsWith(RESERVED)) return
    const message = { envelope, workspace: guest.workspace }
    const deliver = this.#listenerOf(envelope.namespace)
    if (envelope.type === 'event') {
      this.counts.events++
      if (deliver === undefined) this.counts.droppedEvents++
      else deliver(message)
      this.#tell(guest, envelope, deliver === undefined ? 'no_listener' : undefined)
      return
    }
    if (guest.pending.has(envelope.id)) return
    this.#ask(guest, message, bytes, deliver)
  }

  #listenerOf(namespace: string): Deliver | undefined {
    return this.#listeners.get(namespace)?.deliver ?? this.#findElsewhere(namespace)
  }

  #ask(guest: Guest, message: GuestMessage, bytes: number, deliver: Deliver | undefined): void {
    const { id, namespace } = message.envelope
    this.counts.requests++
    const isFull = guest.pending.size >= MAX_PENDING || guest.pendingBytes + bytes > MAX_PENDING_BYTES
    if (isFull || (deliver === undefined && !this.#makeWait(message, bytes)))
      return this.#refuse(guest, message.envelope)
    const cancel = this.#options.clock.after(this.#options.requestTimeoutMs, () => {
      this.counts.expiredRequests++
      this.#settle(guest, id)
      this.#tell(guest, message.envelope, 'expired')
    })
    guest.pending.set(id, { namespace, bytes, cancel })
    guest.pendingBytes += bytes
    this.#tell(guest, message.envelope)
    deliver?.(message)
  }

  /** Returns whether a request for a namespace without a listener may wait for one. Refuses the requests that it replaces. */
  #makeWait(message: GuestMessage, bytes: number): boolean {
    const { isAdded, replaced } = this.#waiting.add(message, bytes)
    for (const { envelope, workspace } of replaced) {
      const guest = this.#guests.get(nameKey(workspace.name))
      if (guest === undefined) continue
      this.#settle(guest, envelope.id)
      this.#refuse(guest, envelope)
    }
    return isAdded
  }

  #tell({ workspace }: Guest, envelope: BusNews['envelope'], lost?: BusNews['lost']): void {
    for (const watcher of this.#watchers)
      watcher({ envelope, workspace, ...(lost !== undefined && { lost }) })
  }

  /** Tells a guest's agent that a request is not carried: too many wait already (threat B5). */
  #refuse(guest: Guest, refused: ReceivedEnvelope): void {
    this.counts.refusedRequests++
    this.#tell(guest, refused, 'refused')
    const nowMs = this.#options.clock.wallMs()
    guest.link.send({
      id: uuidV7(nowMs),
      namespace: `${RESERVED}bus`,
      type: 'response',
      inReplyTo: refused.id,
      isFinal: true,
      timestamp: new Date(nowMs).toISOString(),
      payload: { code: 'OVERLOADED', error: 'too many requests wait for an answer' },
    })
  }

  #settle(guest: Guest, id: string): void {
    const pending = guest.pending.get(id)
    if (pending === undefined) return
    pending.cancel()
    guest.pending.delete(id)
    guest.pendingBytes -= pending.bytes
    this.#waiting.remove(pending.namespace, guest.workspace.name, id)
  }

  #forget(guest: Guest): void {
    for (const id of guest.pending.keys()) this.#settle(guest, id)
  }
}

/** @throws INVALID_NAMESPACE */
function parseNamespace(value: unknown): string {
  if (isNamespace(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault('INVALID_NAMESPACE', `namespace ${shown} must be 1 to 128 of letters, digits and . _ : -`)
}
