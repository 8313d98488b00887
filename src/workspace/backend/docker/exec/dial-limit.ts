import { fault } from '../../../errors.ts'

const MOST_UNDER_WAY = 16
const MOST_WAITING = 512

interface Queue {
  underWay: number
  readonly waiting: (() => void)[]
}

/**
 * Limits the number of concurrent connection attempts per workspace, so that ports that accept nothing block
 * only their own workspace.
 */
export class DialLimit {
  readonly #queues = new Map<string, Queue>()

  /** Runs a dial when its turn comes. @throws CONNECT_FAILED when too many are already waiting */
  async run<T>(workspace: string, dial: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(workspace) ?? { underWay: 0, waiting: [] }
    this.#queues.set(workspace, queue)
    if (queue.underWay >= MOST_UNDER_WAY) {
      if (queue.waiting.length >= MOST_WAITING)
        throw fault(
          'CONNECT_FAILED',
          `${MOST_UNDER_WAY + MOST_WAITING} connections to this workspace are pending: a program in it has stopped accepting connections`,
        )
      await new Promise<void>((resolve) => queue.waiting.push(resolve))
    } else {
      queue.underWay++
    }
    try {
      return await dial()
    } finally {
      // The next one inherits the slot.
      const next = queue.waiting.shift()
      if (next === undefined) queue.underWay--
      else next()
      if (queue.underWay === 0) this.#queues.delete(workspace)
    }
  }
}
