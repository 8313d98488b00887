import { Duplex } from 'node:stream'

/** What a channel needs of the connection that it is part of. */
export interface ChannelLink {
  /** Sends as many bytes as it is allowed at once; resolves when more may follow. */
  readonly send: (bytes: Buffer) => Promise<void>
  readonly sendEnd: () => void
  readonly sendReset: () => void
  readonly sendCredit: (bytes: number) => void
  readonly forget: () => void
}

/** How many bytes a side may send before the other has taken any. */
export const WINDOW_BYTES = 256 * 1024
/** The longest payload of one frame: others get their turn between two of them. */
const PIECE_BYTES = 32 * 1024

/**
 * One stream of a multiplexed connection. Either side may end its half. Bytes wait at their sender's once the reader has not
 * taken WINDOW_BYTES of them.
 */
export class MuxChannel extends Duplex {
  readonly id: number
  readonly #link: ChannelLink
  #credit = WINDOW_BYTES
  #wakeWriter: (() => void) | undefined
  readonly #arrived: Buffer[] = []
  #arrivedBytes = 0
  /** Taken by the reader and not yet told to the sender. */
  #taken = 0
  #hasEnded = false
  #isReading = false
  #isLost = false

  constructor(id: number, link: ChannelLink) {
    super({ allowHalfOpen: true, readableHighWaterMark: PIECE_BYTES, writableHighWaterMark: PIECE_BYTES })
    this.id = id
    this.#link = link
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
    // After both ends in good order there is nothing to cut off.
    if (!(this.#hasEnded && this.writableFinished)) this.#link.sendReset()
    this.#link.forget()
    this.#arrived.length = 0
    this.#wakeWriter?.()
    done(error)
  }

  /** Bytes from the other side. False when it sent more than it may. */
  arrive(bytes: Buffer): boolean {
    if (this.#hasEnded) return false
    this.#arrivedBytes += bytes.length
    if (this.#arrivedBytes > WINDOW_BYTES) return false
    this.#arrived.push(bytes)
    this.#deliver()
    return true
  }

  arriveEnd(): void {
    this.#hasEnded = true
    this.#deliver()
  }

  arriveCredit(bytes: number): void {
    this.#credit += bytes
    this.#wakeWriter?.()
  }

  /** The connection is gone: what had come in good order can still be read. */
  arriveLoss(): void {
    if (!this.#hasEnded) return this.arriveReset('the connection ended')
    this.#isLost = true
    this.#wakeWriter?.()
  }

  /** The other side cut it off. */
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

  #deliver(): void {
    while (this.#isReading) {
      const bytes = this.#arrived.shift()
      if (bytes === undefined) break
      this.#isReading = this.push(bytes)
      this.#arrivedBytes -= bytes.length
      this.#taken += bytes.length
    }
    // Not for every piece: a quarter of the window keeps the sender going.
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
