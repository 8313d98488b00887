import type { Duplex } from 'node:stream'
import { Pace } from '../clock/pace.ts'
import { type Envelope, envelopeToWire, type ReceivedEnvelope } from './envelope.ts'
import { encodeFrame, FrameDecoder, FrameFault } from './frames.ts'

/** Maximum number of bytes that wait for a peer that does not read. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024
/** Rate at which one peer's envelopes are handled, 10,000 per second. Excess waits at the peer while others are served. */
const ENVELOPE_RATE = { perMs: 10, burst: 2_000 } as const

/** Sends and receives envelopes over a connection. An invalid frame closes it (threat B4). */
export class EnvelopeChannel {
  readonly #connection: Duplex
  readonly #decoder: FrameDecoder
  readonly #pace = new Pace(ENVELOPE_RATE)
  /** Number of envelopes in the current chunk. */
  #count = 0
  readonly closed: Promise<void>

  constructor(
    connection: Duplex,
    maxBytes: number,
    onEnvelope: (envelope: ReceivedEnvelope, bytes: number) => void,
  ) {
    this.#connection = connection
    this.#decoder = new FrameDecoder(maxBytes, (envelope, bytes) => {
      this.#count += 1
      onEnvelope(envelope, bytes)
    })
    this.closed = new Promise((resolve) => connection.once('close', resolve))
    connection.on('error', () => undefined)
    connection.once('end', () => connection.destroy())
    connection.on('data', (piece: Buffer) => this.#take(piece))
  }

  /** Like `send`, for a frame from `encodeFrame`. */
  sendFrame(frame: Buffer): boolean {
    if (this.#connection.destroyed || this.#connection.writableLength > MAX_WAITING_BYTES) return false
    this.#connection.write(frame)
    return true
  }

  /** Sends an envelope. Returns false if the connection is closed or its peer reads too slowly. */
  send(envelope: Envelope): boolean {
    return this.sendFrame(encodeFrame(envelopeToWire(envelope)))
  }

  close(): void {
    this.#connection.destroy()
  }

  #take(piece: Buffer): void {
    this.#count = 0
    try {
      this.#decoder.take(piece)
      const waitMs = this.#pace.spend(this.#count)
      if (waitMs === 0) return
      this.#connection.pause()
      setTimeout(() => this.#connection.resume(), waitMs)
    } catch (error) {
      this.#connection.destroy(error instanceof FrameFault ? error : new FrameFault('an invalid frame'))
    }
  }
}
