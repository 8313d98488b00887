import { Duplex } from 'node:stream'
import { addPiece } from './pieces.ts'

const FRAME = { data: 1, ack: 2, end: 3, close: 4, ping: 5, pong: 6 } as const
type FrameKind = (typeof FRAME)[keyof typeof FRAME]

/** A frame starts with its kind and a number (48 bits, big-endian): of bytes that follow, or of bytes received. */
const HEADER_BYTES = 7
/** Bytes kept until the other side has confirmed them; writers then wait. */
export const REPLAY_BYTES = 1024 * 1024
/** Received bytes after which they are confirmed. */
const ACK_BYTES = 64 * 1024
/** Time without a frame after which a side that was pinged takes its link for broken: three pings of the other side. */
const SILENCE_MS = 45_000
/** Time for a peer that does not read to receive that this side has closed. */
const GOODBYE_MS = 1_000

/** Options of one side of a resumable stream. */
export interface ResumableOptions {
  /** How long the stream waits for another link before it fails. */
  readonly patienceMs: number
  /** Called when a link breaks; not when either side closes the stream. */
  readonly onLost?: () => void
  /**
   * How often the other side is asked for a sign of life; a link on which nothing arrives until the next time counts as broken.
   * Default: never. Only one side may ask.
   */
  readonly pingMs?: number
}

/**
 * A stream over one link after another: when a link breaks, it continues over the next one, and no byte is lost or repeated. Both
 * sides keep what the other has not confirmed. Invalid frames destroy it.
 */
export class ResumableStream extends Duplex {
  readonly #options: ResumableOptions
  #link: Duplex | undefined
  #late: NodeJS.Timeout | undefined
  #pings: NodeJS.Timeout | undefined
  /** Breaks a silent link; set once the other side has pinged, and restarted by each arrival. */
  #silence: NodeJS.Timeout | undefined
  /** Whether a ping has no answer yet. */
  #isPinged = false
  #hasHeard = false
  /** Bytes from position `#confirmed` on. The end of the stream occupies a position, too. */
  readonly #replay: Buffer[] = []
  #sent = 0
  #confirmed = 0
  #received = 0
  #acknowledged = 0
  #hasEnded = false
  #hasEndedThere = false
  /** Whether the other side has closed the stream. */
  #isOver = false
  #writeDone: (() => void) | undefined
  #finalDone: (() => void) | undefined
  #head: Buffer = Buffer.alloc(0)
  /** Bytes of the current data frame that have not arrived yet. */
  #missing = 0

  constructor(options: ResumableOptions) {
    super({ allowHalfOpen: true })
    this.#options = options
    if (options.pingMs !== undefined) this.#pings = setInterval(() => this.#ping(), options.pingMs).unref()
  }

  /** Number of bytes received: where the other side continues on the next link. */
  get receivedBytes(): number {
    return this.#received
  }

  /** Number of bytes that have arrived at either side, as far as this one knows. */
  get progressBytes(): number {
    return this.#received + this.#confirmed
  }

  /**
   * Continues over another link; the previous one is destroyed.
   *
   * @param confirmed bytes that the other side has received
   */
  attach(link: Duplex, confirmed: number): void {
    if (this.destroyed || this.#isOver) return void link.destroy()
    const previous = this.#link
    this.#link = undefined
    previous?.destroy()
    if (!this.#confirm(confirmed)) return void link.destroy()
    clearTimeout(this.#late)
    this.#silence?.refresh()
    this.#head = Buffer.alloc(0)
    this.#missing = 0
    this.#acknowledged = this.#received
    this.#isPinged = false
    this.#hasHeard = false
    this.#link = link
    link.on('error', () => undefined)
    link.once('close', () => this.#lose(link))
    if (link.destroyed) return this.#lose(link)
    link.on('data', (chunk: Buffer) => this.#take(link, chunk))
    link.on('drain', () => this.#continueWriting())
    link.once('end', () => link.destroy())
    this.#sendData(this.#replay)
    if (this.#hasEnded && this.#confirmed < this.#sent) this.#send(FRAME.end)
    this.#continueWriting()
  }

  override _read(): void {
    this.#link?.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#write([chunk], done)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#write(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  /** Completes when the other side has received everything. */
  override _final(done: () => void): void {
    if (this.#isOver) return done()
    this.#hasEnded = true
    this.#sent += 1
    this.#finalDone = done
    this.#send(FRAME.end)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#late)
    clearTimeout(this.#silence)
    clearInterval(this.#pings)
    const link = this.#link
    if (link !== undefined) {
      this.#send(FRAME.close)
      this.#link = undefined
      endLink(link)
    }
    this.#replay.length = 0
    this.#continueWriting()
    done(error)
  }

  #write(chunks: readonly Buffer[], done: () => void): void {
    if (this.#isOver) return done()
    for (const chunk of chunks) {
      addPiece(this.#replay, chunk)
      this.#sent += chunk.length
    }
    this.#writeDone = done
    this.#sendData(chunks)
    this.#continueWriting()
  }

  #continueWriting(): void {
    const mustWait =
      !this.destroyed &&
      !this.#isOver &&
      (this.#sent - this.#confirmed > REPLAY_BYTES || this.#link?.writableNeedDrain === true)
    if (mustWait) return
    const done = this.#writeDone
    this.#writeDone = undefined
    done?.()
  }

  #sendData(pieces: readonly Buffer[]): void {
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    if (bytes > 0) this.#send(FRAME.data, bytes, pieces)
  }

  #send(kind: FrameKind, number = 0, pieces: readonly Buffer[] = []): void {
    const link = this.#link
    if (link === undefined) return
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt8(kind, 0)
    header.writeUIntBE(number, 1, 6)
    link.cork()
    link.write(header)
    for (const piece of pieces) link.write(piece)
    link.uncork()
  }

  /** Forgets what the other side has received. Returns false, and destroys this, if it cannot have. */
  #confirm(position: number): boolean {
    if (!(position >= this.#confirmed && position <= this.#sent)) {
      this.#refuse('confirms what was not sent')
      return false
    }
    let bytes = position - this.#confirmed
    this.#confirmed = position
    for (let first = this.#replay[0]; first !== undefined && bytes > 0; first = this.#replay[0]) {
      if (first.length <= bytes) this.#replay.shift()
      else this.#replay[0] = first.subarray(bytes)
      bytes -= Math.min(first.length, bytes)
    }
    if (this.#confirmed === this.#sent) this.#finish()
    return true
  }

  #take(link: Duplex, chunk: Buffer): void {
    this.#hasHeard = true
    this.#silence?.refresh()
    const arrived: Buffer[] = []
    let rest = chunk
    while (rest.length > 0 && this.#link === link) {
      if (this.#missing > 0) {
        const piece = rest.subarray(0, this.#missing)
        this.#missing -= piece.length
        this.#received += piece.length
        rest = rest.subarray(piece.length)
        // Frames of a few bytes must not each cost an event.
        addPiece(arrived, piece)
        continue
      }
      const head = rest.subarray(0, HEADER_BYTES - this.#head.length)
      rest = rest.subarray(head.length)
      this.#head = this.#head.length === 0 ? head : Buffer.concat([this.#head, head])
      if (this.#head.length < HEADER_BYTES) break
      const kind = this.#head.readUInt8(0)
      const number = this.#head.readUIntBE(1, 6)
      this.#head = Buffer.alloc(0)
      if (kind === FRAME.end || kind === FRAME.close) this.#deliver(arrived.splice(0))
      this.#handle(kind, number)
    }
    this.#deliver(arrived)
    if (this.#received - this.#acknowledged >= ACK_BYTES) this.#acknowledge()
  }

  #deliver(pieces: readonly Buffer[]): void {
    for (const piece of pieces) if (!this.destroyed && !this.push(piece)) this.#link?.pause()
  }

  #handle(kind: number, number: number): void {
    if (kind === FRAME.data && number > 0 && !this.#hasEndedThere) this.#missing = number
    else if (kind === FRAME.ack && number > this.#confirmed) this.#takeAck(number)
    else if (kind === FRAME.ping && this.#options.pingMs === undefined) this.#answerPing()
    else if (kind === FRAME.pong && this.#isPinged) this.#isPinged = false
    else if (kind === FRAME.end && !this.#hasEndedThere) this.#takeEnd()
    else if (kind === FRAME.close) this.#takeClose()
    else this.#refuse('sent an invalid frame')
  }

  #takeAck(number: number): void {
    if (this.#confirm(number)) this.#continueWriting()
  }

  #takeEnd(): void {
    this.#hasEndedThere = true
    this.#received += 1
    this.#acknowledge()
    this.push(null)
  }

  /** Ends this as a closed socket does: what has arrived can still be read. */
  #takeClose(): void {
    const link = this.#link
    this.#isOver = true
    this.#link = undefined
    link?.destroy()
    if (!this.#hasEndedThere) this.push(null)
    this.#finish()
    this.#continueWriting()
  }

  #finish(): void {
    const done = this.#finalDone
    this.#finalDone = undefined
    done?.()
  }

  /**
   * Breaks a link on which nothing has arrived since the last ping. A slow one may still be busy with what was sent before,
   * and nothing arrives on one that is not read.
   */
  #ping(): void {
    if (this.#link === undefined) return
    if (this.#isPinged && !this.#hasHeard && !this.#link.isPaused()) return void this.#link.destroy()
    this.#hasHeard = false
    if (this.#isPinged) return
    this.#isPinged = true
    this.#send(FRAME.ping)
  }

  #answerPing(): void {
    this.#send(FRAME.pong)
    this.#silence ??= setTimeout(() => this.#breakSilence(), SILENCE_MS).unref()
  }

  #breakSilence(): void {
    // Nothing arrives on a link that is not read.
    if (this.#link?.isPaused() === true) this.#silence?.refresh()
    else this.#link?.destroy()
  }

  #acknowledge(): void {
    this.#acknowledged = this.#received
    this.#send(FRAME.ack, this.#received)
  }

  #refuse(why: string): void {
    this.destroy(new Error(`the other side of a resumable stream ${why}`))
  }

  #lose(link: Duplex): void {
    if (this.#link !== link) return
    this.#link = undefined
    const { patienceMs, onLost } = this.#options
    const fail = (): void => void this.destroy(new Error('the connection was lost'))
    this.#late = setTimeout(fail, patienceMs).unref()
    this.#continueWriting()
    onLost?.()
  }
}

/** Closes a link after what was written to it. */
function endLink(link: Duplex): void {
  // Unread bytes would turn the close of a socket into a reset, which discards what was written.
  link.removeAllListeners('data').resume()
  const late = setTimeout(() => link.destroy(), GOODBYE_MS).unref()
  link.once('close', () => clearTimeout(late))
  link.end(() => link.destroy())
}
