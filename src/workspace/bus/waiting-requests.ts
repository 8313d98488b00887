import type { GuestMessage } from './guest-message.ts'

const MAX_REQUESTS = 1_000
const MAX_BYTES = 16 * 1024 * 1024

interface Queue {
  /** Oldest first. */
  readonly messages: Map<string, { readonly message: GuestMessage; readonly bytes: number }>
  bytes: number
}

/** Requests for namespaces that have no listener yet, by namespace: at most 1,000 and 16 MiB for each (threat B5). */
export class WaitingRequests {
  readonly #queues = new Map<string, Queue>()

  /** False when there is no room for it. */
  add(message: GuestMessage, bytes: number): boolean {
    const { namespace, id } = message.envelope
    const queue = this.#queues.get(namespace) ?? { messages: new Map(), bytes: 0 }
    if (queue.messages.size >= MAX_REQUESTS || queue.bytes + bytes > MAX_BYTES) return false
    queue.messages.set(keyOf(message.workspace.name, id), { message, bytes })
    queue.bytes += bytes
    this.#queues.set(namespace, queue)
    return true
  }

  /** One that nobody waits for any more; nothing where it does not wait here. */
  remove(namespace: string, workspaceName: string, id: string): void {
    const queue = this.#queues.get(namespace)
    const found = queue?.messages.get(keyOf(workspaceName, id))
    if (queue === undefined || found === undefined) return
    queue.messages.delete(keyOf(workspaceName, id))
    queue.bytes -= found.bytes
    if (queue.messages.size === 0) this.#queues.delete(namespace)
  }

  /** Those of a namespace, which then wait no longer. */
  take(namespace: string): readonly GuestMessage[] {
    const queue = this.#queues.get(namespace)
    this.#queues.delete(namespace)
    return [...(queue?.messages.values() ?? [])].map(({ message }) => message)
  }
}

function keyOf(workspaceName: string, id: string): string {
  return `${workspaceName} ${id}`
}
