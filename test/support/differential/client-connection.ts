import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, AnswerReader } from './answer-reader.ts'
import type { Random } from './random.ts'

const ANSWER_MS = 30_000
/** After that long without an answer to bytes that may be half a request, no more come. */
const HALF_CLOSE_MS = 500

/** A client's connection to a front. */
export class ClientConnection {
  readonly #socket: Socket
  readonly #reader: AnswerReader

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#reader = new AnswerReader(this.#socket)
  }

  /** Whether no further request can be answered here. */
  get isDirty(): boolean {
    return this.#reader.rest !== '' || this.#reader.isOver || this.#socket.writableEnded
  }

  /** Sends all at once, or now and then in two pieces. */
  send(bytes: Buffer, random?: Random): void {
    if (random?.chance(0.1) !== true) return void this.#socket.write(bytes)
    const at = random.below(bytes.length)
    this.#socket.write(bytes.subarray(0, at))
    setImmediate(() => this.#socket.write(bytes.subarray(at)))
  }

  /** Never throws: an answer that is not valid is returned as a sentence. */
  async read(method: string, isMaybeHalf = false): Promise<Answer | string> {
    const halfClose = isMaybeHalf ? setTimeout(() => this.#socket.end(), HALF_CLOSE_MS) : undefined
    const limit = new AbortController()
    const tooLate = delay(ANSWER_MS, 'unanswered' as const, { signal: limit.signal }).catch(
      () => 'closed' as const,
    )
    const reading = await Promise.race([
      this.#reader.next(method).catch((error: unknown) => String(error)),
      tooLate,
    ])
    clearTimeout(halfClose)
    limit.abort()
    return reading
  }

  end(): void {
    this.#socket.destroy()
  }
}
