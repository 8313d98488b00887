import { setTimeout as delay } from 'node:timers/promises'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'

/** Size limit of one request, except for a single longer line. */
const MAX_BODY_BYTES = 512 * 1024
/** Two requests are pipelined: the next is sent while one is being answered. */
const MAX_REQUESTS = 2
/** Requests wait 30 s for an answer by default. */
const RETRY_FOR_MS = 30_000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 2_000

/** Sends answers to the bus, batching those added together as lines of one request. */
export class AnswerBatcher {
  readonly #post: (lines: Buffer) => Promise<void>
  readonly #onLoss: (sentence: string) => void
  /** Lines, each with its line ending. */
  #waiting: Buffer[] = []
  #requests = 0
  #isScheduled = false

  /** @param onLoss called with a message when answers could not be sent */
  constructor(post: (lines: Buffer) => Promise<void>, onLoss: (sentence: string) => void) {
    this.#post = post
    this.#onLoss = onLoss
  }

  /** Queues an answer. */
  add(answer: Readonly<Record<string, unknown>>): void {
    this.#waiting.push(Buffer.from(`${JSON.stringify(answer)}\n`))
    if (this.#isScheduled) return
    this.#isScheduled = true
    // Sends after all answers to the same chunk of the stream have been added.
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendWaiting()
    })
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#requests < MAX_REQUESTS) void this.#send(this.#nextBatch())
  }

  async #send(lines: readonly Buffer[]): Promise<void> {
    this.#requests++
    try {
      await this.#postUntilReceived(Buffer.concat(lines))
    } catch (error) {
      this.#onLoss(
        `${lines.length === 1 ? 'an answer was' : `some of ${lines.length} answers were`} lost: ${messageOf(error)}`,
      )
    }
    this.#requests--
    this.#sendWaiting()
  }

  /** Sends lines again while the server cannot be reached: the bus drops answers that it has received before. */
  async #postUntilReceived(lines: Buffer): Promise<void> {
    const endMs = performance.now() + RETRY_FOR_MS
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      try {
        return await this.#post(lines)
      } catch (error) {
        const isUnreachable = isFault(error) && error.code === 'SERVER_UNREACHABLE'
        if (!isUnreachable || performance.now() + retryMs > endMs) throw error
      }
      await delay(retryMs)
    }
  }

  /** Removes and returns as many lines as fit into one request, at least one. */
  #nextBatch(): readonly Buffer[] {
    let bytes = 0
    let count = 0
    for (const line of this.#waiting) {
      bytes += line.length
      if (count > 0 && bytes > MAX_BODY_BYTES) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
