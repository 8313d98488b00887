import { messageOf } from '../../lib/errors/message.ts'

/** What one request carries at most, a longer line aside. */
const MAX_BODY_BYTES = 512 * 1024
/** While one request is answered the next is on its way already. */
const REQUESTS_AT_ONCE = 2

/** Sends answers to the bus, those that come together as lines of one request. */
export class AnswerLines {
  readonly #post: (lines: Buffer) => Promise<void>
  readonly #onLoss: (sentence: string) => void
  /** Lines, each with its end. */
  #waiting: Buffer[] = []
  #requests = 0
  #isDue = false

  /** @param onLoss answers that could not be sent, and why */
  constructor(post: (lines: Buffer) => Promise<void>, onLoss: (sentence: string) => void) {
    this.#post = post
    this.#onLoss = onLoss
  }

  add(answer: Readonly<Record<string, unknown>>): void {
    this.#waiting.push(Buffer.from(`${JSON.stringify(answer)}\n`))
    if (this.#isDue) return
    this.#isDue = true
    // After all that came in the same piece of the stream.
    setImmediate(() => {
      this.#isDue = false
      this.#sendWaiting()
    })
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#requests < REQUESTS_AT_ONCE) void this.#send(this.#take())
  }

  async #send(lines: readonly Buffer[]): Promise<void> {
    this.#requests++
    try {
      await this.#post(Buffer.concat(lines))
    } catch (error) {
      this.#onLoss(
        `${lines.length === 1 ? 'an answer was' : `some of ${lines.length} answers were`} lost: ${messageOf(error)}`,
      )
    }
    this.#requests--
    this.#sendWaiting()
  }

  /** As many as one request carries, and at least one. */
  #take(): readonly Buffer[] {
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
