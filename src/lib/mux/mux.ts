import type { Duplex } from 'node:stream'
import { Pace } from '../clock/pace.ts'
import { defineFaults } from '../errors/fault.ts'
import { MuxChannel } from './channel.ts'
import { encodeFrame, FRAME, type Frame, FrameReader } from './frame.ts'

const muxFault = defineFaults({ TOO_MANY_CHANNELS: 'unavailable' })

/** Maximum number of open channels per connection, opened by either side. */
export const MAX_CHANNELS = 1024
/** Maximum number of bytes, credits and resets included, that wait for a peer that does not read. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024
const CREDIT_BYTES = 4
/**
 * Rate at which a connection's frames are handled: 50,000 per second. Frames have up to 64 KiB, so no honest peer comes close, and
 * one that sends millions of one-byte frames does not block the thread.
 */
const FRAME_RATE = { perMs: 50, burst: 1_000 } as const
/** Costs in frames: opening a channel may open a connection, and frames of unknown channels are useless. */
const COST = { open: 128, stray: 16, other: 1 } as const

/** Options of one side of a multiplexed connection. */
export interface MuxOptions {
  /** Whether this side uses odd channel numbers, so that both sides can open channels. */
  readonly isFirst: boolean
  /** Called for each channel opened by the other side, with its greeting. Without it, none can be opened. */
  readonly onChannel?: (channel: MuxChannel, greeting: Buffer) => void
}

/**
 * Multiplexes duplex streams over one connection, each with its own backpressure: an unread stream does not block the others.
 * Invalid or excess bytes close the connection.
 */
export class Mux {
  readonly #link: Duplex
  readonly #options: MuxOptions
  readonly #reader = new FrameReader()
  readonly #channels = new Map<number, MuxChannel>()
  readonly #pace = new Pace(FRAME_RATE)
  #lastId: number
  #rest: NodeJS.Timeout | undefined
  #drained: PromiseWithResolvers<void> | undefined

  constructor(link: Duplex, options: MuxOptions) {
    this.#link = link
    this.#options = options
    // Lower numbers are fixed by the protocol.
    this.#lastId = options.isFirst ? 1001 : 1000
    link.on('data', (chunk: Buffer) => this.#take(chunk))
    link.on('drain', () => this.#wake())
    link.once('end', () => link.destroy())
    link.on('error', () => undefined)
    link.once('close', () => {
      this.#handleRest()
      for (const channel of this.#channels.values()) channel.arriveLoss()
      this.#wake()
    })
  }

  get isClosed(): boolean {
    return this.#link.destroyed
  }

  /** Returns the channel with a number fixed by the protocol, 0 to 1000. The other side must not send on a write-only channel. */
  channel(id: number, options: { readonly isWriteOnly?: boolean } = {}): MuxChannel {
    return this.#add(id, options.isWriteOnly)
  }

  /** Opens a channel and sends its `greeting`. @throws TOO_MANY_CHANNELS when the connection has MAX_CHANNELS */
  open(greeting: Uint8Array): MuxChannel {
    if (this.#channels.size >= MAX_CHANNELS)
      throw muxFault(
        'TOO_MANY_CHANNELS',
        `the connection already has ${MAX_CHANNELS} channels: close one first`,
      )
    this.#lastId += 2
    const channel = this.#add(this.#lastId)
    this.#send(channel.id, FRAME.open, greeting)
    return channel
  }

  /** Sends pending data, then closes the connection. */
  end(): void {
    this.#link.end()
  }

  /** Resets all channels and closes the connection. */
  close(): void {
    this.#link.destroy()
  }

  #add(id: number, isWriteOnly = false): MuxChannel {
    const link = {
      send: (bytes: Buffer) => this.#sendData(id, bytes),
      sendEnd: () => this.#send(id, FRAME.end),
      sendReset: () => this.#send(id, FRAME.reset),
      sendCredit: (bytes: number) => this.#send(id, FRAME.credit, creditOf(bytes)),
      forget: () => void this.#channels.delete(id),
    }
    const channel = new MuxChannel(id, link, isWriteOnly)
    this.#channels.set(id, channel)
    if (this.isClosed) channel.arriveLoss()
    return channel
  }

  #take(chunk: Buffer): void {
    this.#reader.add(chunk)
    if (this.#rest === undefined) this.#handleAll()
  }

  /** Handles complete frames at the allowed rate; reading pauses meanwhile. */
  #handleAll(): void {
    try {
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        const waitMs = this.#pace.spend(this.#costOf(frame))
        this.#handle(frame)
        if (waitMs === 0) continue
        this.#link.pause()
        this.#rest = setTimeout(() => {
          this.#rest = undefined
          this.#handleAll()
          if (this.#rest === undefined) this.#link.resume()
        }, waitMs)
        return
      }
    } catch (error) {
      this.#link.destroy(error as Error)
    }
  }

  /** Handles data received before the connection closed: at most one read. */
  #handleRest(): void {
    if (this.#rest === undefined) return
    clearTimeout(this.#rest)
    this.#rest = undefined
    try {
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next())
        if (frame.kind !== FRAME.open) this.#handle(frame)
    } catch {
      // Already closed.
    }
  }

  #costOf({ channel, kind }: Frame): number {
    if (kind === FRAME.open) return COST.open
    return this.#channels.has(channel) ? COST.other : COST.stray
  }

  #handle({ channel: id, kind, payload }: Frame): void {
    if (kind === FRAME.open) return this.#accept(id, payload)
    const channel = this.#channels.get(id)
    // Frames of a channel that was reset here may still arrive.
    if (channel === undefined) return
    switch (kind) {
      case FRAME.data:
        if (!channel.arrive(payload)) throw new Error(`channel ${id} received data it does not allow`)
        break
      case FRAME.end:
        channel.arriveEnd()
        break
      case FRAME.credit:
        if (payload.length !== CREDIT_BYTES) throw new Error('a credit has four bytes')
        if (!channel.arriveCredit(payload.readUInt32BE(0)))
          throw new Error(`channel ${id} received more credit than was sent`)
        break
      case FRAME.reset:
        channel.arriveReset('reset by the other side')
        break
    }
  }

  #accept(id: number, greeting: Buffer): void {
    const { onChannel } = this.#options
    if (this.#channels.has(id)) throw new Error(`channel ${id} is already open`)
    if (onChannel === undefined || this.#channels.size >= MAX_CHANNELS) return this.#send(id, FRAME.reset)
    onChannel(this.#add(id), greeting)
  }

  async #sendData(id: number, bytes: Buffer): Promise<void> {
    this.#send(id, FRAME.data, bytes)
    while (this.#link.writableNeedDrain && !this.#link.destroyed) {
      this.#drained ??= Promise.withResolvers<void>()
      await this.#drained.promise
    }
  }

  #send(id: number, kind: Frame['kind'], payload?: Uint8Array): void {
    if (this.#link.destroyed || this.#link.writableEnded) return
    this.#link.cork()
    for (const piece of encodeFrame(id, kind, payload)) this.#link.write(piece)
    process.nextTick(() => this.#link.uncork())
    if (this.#link.writableLength > MAX_WAITING_BYTES)
      this.#link.destroy(new Error('the other side does not read'))
  }

  #wake(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}

function creditOf(bytes: number): Buffer {
  const payload = Buffer.alloc(CREDIT_BYTES)
  payload.writeUInt32BE(bytes, 0)
  return payload
}
