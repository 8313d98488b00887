import { Duplex } from 'node:stream'

/** A channel's interface to its connection. */
export interface ChannelLink {
  /** Sends bytes within the window; resolves when more may follow. */
  readonly send: (bytes: Buffer) => Promise<void>
  readonly sendEnd: () => void
  readonly sendReset: () => void
  readonly sendCredit: (bytes: number) => void
  readonly forget: () => void
}

/** Bytes that a side may send before the other has read any. */
export const WINDOW_BYTES = 256 * 1024
/** Maximum payload per frame, so that channels take turns. */
const PIECE_BYTES = 32 * 1024
const BLOCK_BYTES = 8 * 1024

/**
 * One stream of a multiplexed connection. Either side may close its half. The sender waits while WINDOW_BYTES are
 * unread.
 */
export class MuxChannel extends Duplex {
  readonly id: number
  readonly #link: ChannelLink
  #credit = WINDOW_BYTES
  #wakeWriter: (() => void) | undefined
  readonly #arrived: Buffer[] = []
  #arrivedBytes = 0
  /** Block for copies of small chunks, and the offset of the next one. */
  #block = Buffer.alloc(0)
  #blockEnd = 0
  /** Bytes read but not yet credited to the sender. */
  #taken = 0
  #hasEnded = false
  #isReading = false
  #isLost = false
  readonly #isWriteOnly: boolean

  /** @param isWriteOnly whether the other side must not send on it */
  constructor(id: number, link: ChannelLink, isWriteOnly = false) {
    super({ allowHalfOpen: true, readableHighWaterMark: PIECE_BYTES, writableHighWaterMark: PIECE_BYTES })
    this.id = id
    this.#link = link
    this.#isWriteOnly = isWriteOnly
  }

  /** Memory in bytes held for the reader: at most twice the window and two blocks, for any frames. */
  get heldBytes(): number {
    const memory = new Set(this.#arrived.map(({ buffer }) => buffer))
    return [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  override _read(): void {
    this.#isReading = true
    this.#deliver()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    void this.#sendAll(chunk, done)
  }

  override _final(done: () => void): void {
    this.#link.sendEnd()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // After a clean close of both halves there is nothing to reset.
    if (!(this.#hasEnded && this.writableFinished)) this.#link.sendReset()
    this.#link.forget()
    this.#arrived.length = 0
    this.#wakeWriter?.()
    done(error)
  }

  /** Receives bytes from the other side. Returns false if they exceed the window, are empty, or the channel is write-only. */
  arrive(bytes: Buffer): boolean {
    if (this.#hasEnded || this.#isWriteOnly || bytes.length === 0) return false
    this.#arrivedBytes += bytes.length
    if (this.#arrivedBytes > WINDOW_BYTES) return false
    // A single byte must not keep the whole chunk in memory.
    this.#arrived.push(isSparse(bytes) ? Buffer.from(new Uint8Array(bytes).buffer) : bytes)
    this.#deliver()
    if (this.#arrived.length > 0) this.#compact()
    return true
  }

  arriveEnd(): void {
    this.#hasEnded = true
    this.#deliver()
  }

  /** Receives credit. Returns false if it exceeds what this side has sent. */
  arriveCredit(bytes: number): boolean {
    this.#credit += bytes
    if (this.#credit > WINDOW_BYTES) return false
    this.#wakeWriter?.()
    return true
  }

  /** Handles the loss of the connection: complete data can still be read. */
  arriveLoss(): void {
    if (!this.#hasEnded) return this.arriveReset('the connection was closed')
    this.#isLost = true
    this.#wakeWriter?.()
  }

  /** Handles a reset by the other side. */
  arriveReset(why: string): void {
    this.destroy(Object.assign(new Error(why), { code: 'ECONNRESET' }))
  }

  async #sendAll(chunk: Buffer, done: (error?: Error) => void): Promise<void> {
    await this.#send(chunk)
    done()
  }

  async #send(chunk: Buffer): Promise<void> {
    let rest = chunk
    while (rest.length > 0) {
      while (this.#credit === 0 && !this.destroyed && !this.#isLost) {
        await new Promise<void>((resolve) => (this.#wakeWriter = resolve))
      }
      if (this.destroyed || this.#isLost) return
      const piece = rest.subarray(0, Math.min(rest.length, this.#credit, PIECE_BYTES))
      this.#credit -= piece.length
      rest = rest.subarray(piece.length)
      await this.#link.send(piece)
    }
  }

  /**
   * Copies a small waiting chunk to the end of a block shared with earlier small chunks: thousands of one-byte frames must not hold a
   * buffer each.
   */
  #compact(): void {
    const piece = this.#arrived.pop()
    if (piece === undefined) return
    if (piece.length >= BLOCK_BYTES) {
      this.#arrived.push(piece)
      return
    }
    for (let rest = piece; rest.length > 0;) {
      if (this.#blockEnd === this.#block.length) {
        this.#block = Buffer.from(new ArrayBuffer(BLOCK_BYTES))
        this.#blockEnd = 0
      }
      const count = Math.min(rest.length, BLOCK_BYTES - this.#blockEnd)
      rest.copy(this.#block, this.#blockEnd, 0, count)
      const last = this.#arrived.at(-1)
      const isBeside = last?.buffer === this.#block.buffer && last.byteOffset + last.length === this.#blockEnd
      if (isBeside) this.#arrived.pop()
      const start = isBeside ? last.byteOffset : this.#blockEnd
      this.#blockEnd += count
      this.#arrived.push(this.#block.subarray(start, this.#blockEnd))
      rest = rest.subarray(count)
    }
  }

  #deliver(): void {
    while (this.#isReading) {
      const bytes = this.#arrived.shift()
      if (bytes === undefined) break
      this.#isReading = this.push(bytes)
      this.#arrivedBytes -= bytes.length
      this.#taken += bytes.length
    }
    // Not for every chunk: a quarter of the window keeps the sender busy.
    if (this.#taken >= WINDOW_BYTES / 4 && !this.#hasEnded) {
      this.#link.sendCredit(this.#taken)
      this.#taken = 0
    }
    if (this.#hasEnded && this.#arrived.length === 0 && this.#isReading) {
      this.#isReading = false
      this.push(null)
    }
  }
}

/** Whether a chunk is less than half of its underlying memory. */
function isSparse({ buffer, length }: Buffer): boolean {
  return buffer.byteLength > 2 * length
}
