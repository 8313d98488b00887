import { type Envelope, type ReceivedEnvelope, RESERVED, isNamespace } from '../../lib/envelope/envelope.ts'
import { uuidV7 } from '../../lib/envelope/uuid-v7.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { BackendName } from '../backend-name.ts'
import type { BusCounts, BusEvent } from './bus-event.ts'
import type { ConnectedGuest, ConnectedWorkspace, GuestMessage } from './guest-message.ts'
import { ListenerSessions } from './listener-sessions.ts'
import { WaitingMessages } from './waiting-messages.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'

/** The sending side of a guest's connection. */
export interface GuestLink {
  /** Returns false when the message cannot be sent. */
  readonly send: (envelope: Envelope) => boolean
}

/** A listener as reported by the API. */
export interface Listener {
  readonly namespace: string
  readonly createdAt: Date
}

/** A listener's answer to a guest's request. */
export interface Answer {
  readonly workspaceName: string
  readonly inReplyTo: string
  readonly isFinal: boolean
  readonly payload: Readonly<Record<string, unknown>>
  /** The workspace's server, if the listener names it. */
  readonly server?: string
}

/** Options of a bus. */
export interface BusOptions {
  readonly server: string
  readonly requestTimeoutMs: number
  readonly clock: AlarmClock
}

/** Limits on a workspace's unanswered requests, by number and by size (threat B5). */
const MAX_PENDING = 1_000
const MAX_PENDING_BYTES = 16 * 1024 * 1024

/** The bus's interface for one connected guest. */
export interface GuestConnection {
  /** Accepts a message from the guest. @param bytes its size on the wire */
  readonly receive: (envelope: ReceivedEnvelope, bytes: number) => void
  /** Updates the health of the guest's extensions. */
  readonly updateHealth: (extensions: readonly ExtensionHealth[]) => void
  readonly disconnect: () => void
}

interface Pending {
  readonly namespace: string
  readonly bytes: number
  readonly cancel: () => void
}

interface Guest {
  readonly workspace: ConnectedWorkspace
  readonly link: GuestLink
  /** Requests waiting for an answer, by id: answers cannot reach another guest's requests (threat B2). */
  readonly pending: Map<string, Pending>
  pendingBytes: number
  extensions: readonly ExtensionHealth[]
}

/** Where the messages of a namespace go. */
export interface Outlet {
  readonly deliver: (message: GuestMessage) => void
  /** Whether it takes messages at present, otherwise they wait; always if absent. See `Bus.deliverWaiting`. */
  readonly hasRoom?: () => boolean
}

interface Registration extends Listener {
  readonly outlet: Outlet
  readonly onLost: () => void
}

/**
 * Routes messages between guests and host listeners: each namespace has one listener, and only it can answer
 * the namespace's requests.
 */
export class Bus {
  readonly #options: BusOptions
  readonly #guests = new Map<string, Guest>()
  readonly #listeners = new Map<string, Registration>()
  readonly #waiting = new WaitingMessages()
  readonly #watchers = new Set<(event: BusEvent) => void>()
  #findFallback: (namespace: string) => Outlet | undefined = () => undefined
  /** Events received by each listener. */
  readonly sessions: ListenerSessions
  readonly counts: BusCounts = {
    requests: 0,
    responses: 0,
    events: 0,
    droppedEvents: 0,
    refusedMessages: 0,
    expiredRequests: 0,
    lateResponses: 0,
    strayMessages: 0,
    oversizedMessages: 0,
  }

  constructor(options: BusOptions) {
    this.#options = options
    this.sessions = new ListenerSessions(options)
  }

  /** Connects a guest, replacing an earlier connection of the same workspace. */
  connect(name: string, backend: BackendName, link: GuestLink): GuestConnection {
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
      receive: (envelope, bytes) => this.#receive(guest, envelope, bytes),
      updateHealth: (extensions) => void (guest.extensions = extensions),
      disconnect: () => {
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

  /**
   * Validates a namespace for a new listener.
   *
   * @throws INVALID_NAMESPACE when it is not valid
   * @throws NAMESPACE_RESERVED when it is reserved for the server
   * @throws NAMESPACE_ALREADY_REGISTERED when it has a listener
   */
  checkFree(namespace: unknown): string {
    const checked = parseNamespace(namespace)
    if (checked.startsWith(RESERVED))
      throw fault(
        'NAMESPACE_RESERVED',
        `namespace "${checked}" is reserved for the server: choose one without ${RESERVED}`,
      )
    if (this.#listeners.has(checked))
      throw fault('NAMESPACE_ALREADY_REGISTERED', `namespace "${checked}" already has a listener`)
    return checked
  }

  /**
   * Registers a listener and delivers the requests that were waiting for it. Returns a function that
   * unregisters it.
   *
   * @param onLost called when the listener loses the namespace to another server's earlier one
   * @throws like `checkFree`
   */
  listen(namespace: unknown, outlet: Outlet, onLost: () => void = () => undefined): () => void {
    const checked = this.checkFree(namespace)
    const registration = {
      namespace: checked,
      createdAt: new Date(this.#options.clock.wallMs()),
      outlet,
      onLost,
    }
    this.#listeners.set(checked, registration)
    this.deliverWaiting(checked)
    return () => {
      if (this.#listeners.get(checked) === registration) this.#remove(checked)
    }
  }

  hasListener(namespace: string): boolean {
    return this.#listeners.has(namespace)
  }

  /** Sets the fallback for namespaces without a local listener. */
  setFallback(find: (namespace: string) => Outlet | undefined): void {
    this.#findFallback = find
  }

  /** Delivers waiting messages, now that the namespace has a listener or its listener has room. */
  deliverWaiting(namespace: string): void {
    const outlet = this.#outletOf(namespace)
    if (outlet === undefined) return
    while (hasRoom(outlet)) {
      const message = this.#waiting.takeOldest(namespace)
      if (message === undefined) return
      outlet.deliver(message)
    }
  }

  /** Delivers a message of another server's guest; returns false when there is no listener here. */
  deliver(message: GuestMessage): boolean {
    const { envelope } = message
    const outlet = this.#listeners.get(envelope.namespace)?.outlet
    if (outlet === undefined) this.counts.strayMessages++
    else if (!this.#send(message, envelope.payloadJson.length, outlet)) this.#refuse(message)
    return outlet !== undefined
  }

  /** Removes a namespace's listener in favor of another server's. */
  yieldListener(namespace: string): void {
    const listener = this.#listeners.get(namespace)
    this.#remove(namespace)
    listener?.onLost()
  }

  /**
   * Reports every message that is carried or lost from now on. Payloads may be secrets (threat W12). Returns
   * a function that unsubscribes.
   */
  watch(watcher: (event: BusEvent) => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Number of requests that are waiting for an answer. */
  get pendingRequests(): number {
    return [...this.#guests.values()].reduce((sum, { pending }) => sum + pending.size, 0)
  }

  /**
   * Sends an answer to the workspace that asked. An answer that nobody waits for any more is counted and
   * dropped.
   *
   * @throws INVALID_NAMESPACE when the namespace is not valid
   * @throws WORKSPACE_NOT_CONNECTED when the workspace is not connected
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
    const isPending = guest.pending.get(inReplyTo)?.namespace === namespace
    if (isPending && isFinal) this.#finish(guest, inReplyTo)
    const isSent = isPending && guest.link.send(envelope)
    if (isSent) this.counts.responses++
    else this.counts.lateResponses++
    this.#notify({ envelope, workspace: guest.workspace }, isSent ? undefined : 'late')
  }

  #receive(guest: Guest, envelope: ReceivedEnvelope, bytes: number): void {
    // Guests never answer, and messages in reserved namespaces are handled before they reach the bus.
    if (envelope.type === 'response' || envelope.namespace.startsWith(RESERVED)) return
    const message = { envelope, workspace: guest.workspace }
    const outlet = this.#outletOf(envelope.namespace)
    if (envelope.type === 'event') this.#event(message, bytes, outlet)
    else if (!guest.pending.has(envelope.id)) this.#request(guest, message, bytes, outlet)
  }

  #outletOf(namespace: string): Outlet | undefined {
    return this.#listeners.get(namespace)?.outlet ?? this.#findFallback(namespace)
  }

  /** Returns whether a message can be delivered without overtaking another. */
  #isReady(outlet: Outlet, namespace: string): boolean {
    return hasRoom(outlet) && !this.#waiting.has(namespace)
  }

  #event(message: GuestMessage, bytes: number, outlet: Outlet | undefined): void {
    this.counts.events++
    if (outlet === undefined) this.#dropEvent(message)
    else if (this.#send(message, bytes, outlet)) this.#notify(message)
    else this.#refuse(message)
  }

  /** Delivers a message, or queues it. Returns false when the queue is full. */
  #send(message: GuestMessage, bytes: number, outlet: Outlet): boolean {
    if (!this.#isReady(outlet, message.envelope.namespace)) return this.#enqueue(message, bytes)
    outlet.deliver(message)
    return true
  }

  #request(guest: Guest, message: GuestMessage, bytes: number, outlet: Outlet | undefined): void {
    const { id, namespace } = message.envelope
    this.counts.requests++
    const isFull = guest.pending.size >= MAX_PENDING || guest.pendingBytes + bytes > MAX_PENDING_BYTES
    const isReady = outlet !== undefined && this.#isReady(outlet, namespace)
    if (isFull || (!isReady && !this.#enqueue(message, bytes))) return this.#refuse(message, guest)
    const cancel = this.#options.clock.after(this.#options.requestTimeoutMs, () => {
      this.counts.expiredRequests++
      this.#finish(guest, id)
      this.#notify(message, 'expired')
    })
    guest.pending.set(id, { namespace, bytes, cancel })
    guest.pendingBytes += bytes
    this.#notify(message)
    if (isReady) outlet.deliver(message)
  }

  /**
   * Queues a message for a namespace without a listener that takes it now. Returns false when the queue is
   * full. Refuses the messages that it replaces.
   */
  #enqueue(message: GuestMessage, bytes: number): boolean {
    const { isAdded, replaced } = this.#waiting.add(message, bytes)
    for (const each of replaced) {
      const guest = this.#guests.get(nameKey(each.workspace.name))
      const isPending = guest?.pending.has(each.envelope.id) === true
      if (isPending) this.#finish(guest, each.envelope.id)
      this.#refuse(each, isPending ? guest : undefined)
    }
    return isAdded
  }

  /** Removes a listener, and the events that wait for it. */
  #remove(namespace: string): void {
    this.#listeners.delete(namespace)
    for (const event of this.#waiting.takeEvents(namespace)) this.#dropEvent(event)
  }

  #dropEvent(event: GuestMessage): void {
    this.counts.droppedEvents++
    this.#notify(event, 'no_listener')
  }

  #notify(message: Pick<BusEvent, 'envelope' | 'workspace'>, lost?: BusEvent['lost']): void {
    for (const watcher of this.#watchers) watcher({ ...message, ...(lost !== undefined && { lost }) })
  }

  /**
   * Counts a message that was refused because too many are waiting (threat B5).
   *
   * @param guest the guest whose agent is notified; only for its requests
   */
  #refuse(message: GuestMessage, guest?: Guest): void {
    this.counts.refusedMessages++
    this.#notify(message, 'refused')
    if (guest === undefined) return
    const nowMs = this.#options.clock.wallMs()
    guest.link.send({
      id: uuidV7(nowMs),
      namespace: `${RESERVED}bus`,
      type: 'response',
      inReplyTo: message.envelope.id,
      isFinal: true,
      timestamp: new Date(nowMs).toISOString(),
      payload: { code: 'OVERLOADED', error: 'too many requests are waiting for an answer' },
    })
  }

  #finish(guest: Guest, id: string): void {
    const pending = guest.pending.get(id)
    if (pending === undefined) return
    pending.cancel()
    guest.pending.delete(id)
    guest.pendingBytes -= pending.bytes
    this.#waiting.remove(pending.namespace, guest.workspace.name, id)
  }

  #forget(guest: Guest): void {
    for (const id of guest.pending.keys()) this.#finish(guest, id)
  }
}

function hasRoom(outlet: Outlet): boolean {
  return outlet.hasRoom?.() ?? true
}

/** Validates a namespace. @throws INVALID_NAMESPACE when it is not valid */
function parseNamespace(value: unknown): string {
  if (isNamespace(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault('INVALID_NAMESPACE', `namespace ${shown} must be 1 to 128 letters, digits or any of . _ : -`)
}
