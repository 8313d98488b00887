import { fault } from '../../../errors.ts'

const MOST_UNDER_WAY = 16
const MOST_WAITING = 512

interface Queue {
  underWay: number
  readonly waiting: (() => void)[]
}

/** Bounds how many connections into one workspace are being made at once: ports that accept nothing hold up that workspace alone. */
export class DialLimit {
  readonly #queues = new Map<string, Queue>()

  /** Runs a dial when it is its turn. @throws CONNECT_FAILED when too many wait already */
  async run<T>(workspace: string, dial: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(workspace) ?? { underWay: 0, waiting: [] }
    this.#queues.set(workspace, queue)
    if (queue.underWay >= MOST_UNDER_WAY) {
      if (queue.waiting.length >= MOST_WAITING)
        throw fault(
          'CONNECT_FAILED',
          `${MOST_UNDER_WAY + MOST_WAITING} connections into this workspace are waiting to be accepted: a program in it has stopped accepting them`,
        )
      await new Promise<void>((resolve) => queue.waiting.push(resolve))
    } else {
      queue.underWay++
    }
    try {
      return await dial()
    } finally {
      // The next one takes over the place.
      const next = queue.waiting.shift()
      if (next === undefined) queue.underWay--
      else next()
      if (queue.underWay === 0) this.#queues.delete(workspace)
    }
  }
}
