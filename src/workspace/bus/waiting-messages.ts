import type { GuestMessage } from './guest-message.ts'

const MAX_MESSAGES = 1_000
const MAX_BYTES = 16 * 1024 * 1024

/** The messages of one workspace in a queue. */
interface Part {
  /** By id, oldest first. */
  readonly messages: Map<string, GuestMessage>
  bytes: number
}

interface Queue {
  /** By workspace and id, oldest first. */
  readonly messages: Map<string, { readonly message: GuestMessage; readonly bytes: number }>
  /** By workspace. */
  readonly parts: Map<string, Part>
  bytes: number
}

/**
 * Queues of messages that no listener takes at present, by namespace: at most 1,000 messages and 16 MiB each
 * (threat B5). A full queue is shared fairly: a message replaces the newest one of the workspace that uses
 * most, if its own workspace uses less.
 */
export class WaitingMessages {
  readonly #queues = new Map<string, Queue>()

  /**
   * Queues a message if possible; not one with the id of another in the queue, which a hostile guest may send.
   * Returns whether it was added, and the messages that it replaced.
   */
  add(
    message: GuestMessage,
    bytes: number,
  ): { readonly isAdded: boolean; readonly replaced: readonly GuestMessage[] } {
    const { namespace, id } = message.envelope
    const { name } = message.workspace
    const queue = this.#queues.get(namespace) ?? { messages: new Map(), parts: new Map(), bytes: 0 }
    const part = queue.parts.get(name) ?? { messages: new Map(), bytes: 0 }
    const replaced: GuestMessage[] = []
    if (part.messages.has(id)) return { isAdded: false, replaced }
    while (queue.messages.size >= MAX_MESSAGES || queue.bytes + bytes > MAX_BYTES) {
      const largest = largestOf(queue)
      if (largest === undefined || shareOf(largest) <= shareOf(part, 1, bytes))
        return { isAdded: false, replaced }
      const newest = [...largest.messages.values()].at(-1) as GuestMessage
      replaced.push(newest)
      this.remove(namespace, newest.workspace.name, newest.envelope.id)
    }
    this.#queues.set(namespace, queue)
    queue.messages.set(keyOf(name, id), { message, bytes })
    queue.bytes += bytes
    queue.parts.set(name, part)
    part.messages.set(id, message)
    part.bytes += bytes
    return { isAdded: true, replaced }
  }

  /** Returns whether a namespace has messages here. */
  has(namespace: string): boolean {
    return this.#queues.has(namespace)
  }

  /** Removes a request that nobody waits for any more, if it is queued here. */
  remove(namespace: string, workspaceName: string, id: string): void {
    const queue = this.#queues.get(namespace)
    const found = queue?.messages.get(keyOf(workspaceName, id))
    const part = queue?.parts.get(workspaceName)
    if (queue === undefined || found === undefined || part === undefined) return
    queue.messages.delete(keyOf(workspaceName, id))
    queue.bytes -= found.bytes
    part.messages.delete(id)
    part.bytes -= found.bytes
    if (part.messages.size === 0) queue.parts.delete(workspaceName)
    if (queue.messages.size === 0) this.#queues.delete(namespace)
  }

  /** Removes and returns the oldest message of a namespace. */
  takeOldest(namespace: string): GuestMessage | undefined {
    const [oldest] = this.#queues.get(namespace)?.messages.values() ?? []
    if (oldest === undefined) return undefined
    const { envelope, workspace } = oldest.message
    this.remove(namespace, workspace.name, envelope.id)
    return oldest.message
  }

  /** Removes and returns the events of a namespace. */
  takeEvents(namespace: string): readonly GuestMessage[] {
    const queued = [...(this.#queues.get(namespace)?.messages.values() ?? [])].map(({ message }) => message)
    const events = queued.filter(({ envelope }) => envelope.type === 'event')
    for (const { envelope, workspace } of events) this.remove(namespace, workspace.name, envelope.id)
    return events
  }
}

function largestOf(queue: Queue): Part | undefined {
  let largest: Part | undefined
  for (const part of queue.parts.values())
    if (largest === undefined || shareOf(part) > shareOf(largest)) largest = part
  return largest
}

/**
 * Returns the share of a queue that a part uses: the larger of its shares of messages and bytes, from 0 to 1.
 */
function shareOf(part: Part, moreMessages = 0, moreBytes = 0): number {
  return Math.max((part.messages.size + moreMessages) / MAX_MESSAGES, (part.bytes + moreBytes) / MAX_BYTES)
}

function keyOf(workspaceName: string, id: string): string {
  return `${workspaceName} ${id}`
}
