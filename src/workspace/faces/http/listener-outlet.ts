import type { SseStream } from '../../../lib/sse/sse-stream.ts'
import { messageToJson } from '../../api/bus.ts'
import type { Bus, Outlet } from '../../bus/bus.ts'
import type { GuestMessage } from '../../bus/guest-message.ts'
import type { ListenerStream } from '../../bus/listener-sessions.ts'

/** Size of pending messages at which others wait. One message may exceed it. */
const ROOM_BYTES = 1024 * 1024

/** The options of a `ListenerOutlet`. */
interface Listening {
  readonly bus: Bus
  readonly namespace: string
  readonly session: ListenerStream
  readonly stream: SseStream
}

/**
 * Sends a namespace's messages to its listener as fast as it reads: first those that its previous stream lost, then those that
 * wait on the bus.
 */
export class ListenerOutlet implements Outlet {
  readonly #listening: Listening
  readonly #missed: { readonly id: string; readonly json: string }[]

  constructor(listening: Listening) {
    this.#listening = listening
    this.#missed = [...listening.session.missed]
    listening.stream.onDrain(() => this.sendWaiting())
  }

  /** Sends messages that wait, up to the limit. */
  sendWaiting(): void {
    const { bus, namespace, stream } = this.#listening
    while (this.#canSend()) {
      const next = this.#missed.shift()
      if (next === undefined) return bus.deliverWaiting(namespace)
      stream.sendJson(next.json, 'message', next.id)
    }
  }

  hasRoom(): boolean {
    return this.#missed.length === 0 && this.#canSend()
  }

  deliver(message: GuestMessage): void {
    const { session, stream } = this.#listening
    const json = messageToJson(message)
    stream.sendJson(json, 'message', session.add(json, requestOf(message)))
  }

  #canSend(): boolean {
    return this.#listening.stream.pendingBytes < ROOM_BYTES
  }
}

/** Returns the request that a message is; undefined for an event, which nobody answers. */
function requestOf({ envelope, workspace }: GuestMessage) {
  return envelope.type === 'request' ? { id: envelope.id, workspace: workspace.name } : undefined
}
