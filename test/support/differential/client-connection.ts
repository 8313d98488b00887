import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, AnswerReader } from './answer-reader.ts'
import type { Random } from './random.ts'

const ANSWER_MS = 30_000
/** After this time without a response to a possibly incomplete request, none is expected. */
const HALF_CLOSE_MS = 500

/** A client connection to a front. */
export class ClientConnection {
  readonly #socket: Socket
  readonly #reader: AnswerReader

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#reader = new AnswerReader(this.#socket)
  }

  /** Whether the connection can serve no more requests. */
  get isDirty(): boolean {
    return this.#reader.rest !== '' || this.#reader.isOver || this.#socket.writableEnded
  }

  /** Sends bytes in one piece, or occasionally in two. */
  send(bytes: Buffer, random?: Random): void {
    if (random?.chance(0.1) !== true) return void this.#socket.write(bytes)
    const at = random.below(bytes.length)
    this.#socket.write(bytes.subarray(0, at))
    setImmediate(() => this.#socket.write(bytes.subarray(at)))
  }

  /** Reads a response; returns an error message, instead of throwing, if it is invalid. */
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
