import type { Duplex } from 'node:stream'
import { Pace } from '../clock/pace.ts'
import { defineFaults } from '../errors/fault.ts'
import { MuxChannel } from './channel.ts'
import { encodeFrame, FRAME, type Frame, FrameReader } from './frame.ts'

const muxFault = defineFaults({ TOO_MANY_CHANNELS: 'unavailable' })

/** Channels of a connection at once, whichever side opened them. */
export const MAX_CHANNELS = 1024
/** What waits for a peer that does not read, its credits and resets included, before it is given up. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024
const CREDIT_BYTES = 4
/**
 * How many frames of a connection are handled: 50,000 a second. Frames are up to 64 KiB long, so that no honest peer comes near, and one
 * that sends a million of a byte each leaves this thread to others.
 */
const FRAME_RATE = { perMs: 50, burst: 1_000 } as const
/** In frames: opening a channel may open a connection, and nobody waits for frames of a channel that does not exist. */
const COST = { open: 128, stray: 16, other: 1 } as const

export interface MuxOptions {
  /** Numbers its own channels odd or even, so that both sides may open some. */
  readonly isFirst: boolean
  /** A channel that the other side opened, with what it said when opening. Without it none may be. */
  readonly onChannel?: (channel: MuxChannel, greeting: Buffer) => void
}

/**
 * Many two-way streams over one, each with its own back-pressure: one that nobody reads holds up no other. Bytes that make
 * no sense, or more of them than allowed, end the connection.
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
    // Below are those whose numbers both sides agreed on.
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

  /** A channel whose number, from 0 to 1000, both sides know. The other side may send nothing on one that is write-only. */
  channel(id: number, options: { readonly isWriteOnly?: boolean } = {}): MuxChannel {
    return this.#add(id, options.isWriteOnly)
  }

  /** Opens a new channel and sends the other side its `greeting`. @throws TOO_MANY_CHANNELS */
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

  /** Lets what has been said be sent, and then ends the connection. */
  end(): void {
    this.#link.end()
  }

  /** Cuts off all channels. */
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

  /** Handles the frames that are whole, as fast as a peer may send them; until then no more are read. */
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

  /** Handles what came before the connection ended: at most what one read brings. */
  #handleRest(): void {
    if (this.#rest === undefined) return
    clearTimeout(this.#rest)
    this.#rest = undefined
    try {
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next())
        if (frame.kind !== FRAME.open) this.#handle(frame)
    } catch {
      // The connection is closed already.
    }
  }

  #costOf({ channel, kind }: Frame): number {
    if (kind === FRAME.open) return COST.open
    return this.#channels.has(channel) ? COST.other : COST.stray
  }

  #handle({ channel: id, kind, payload }: Frame): void {
    if (kind === FRAME.open) return this.#accept(id, payload)
    const channel = this.#channels.get(id)
    // Of one that was cut off here more may be on its way.
    if (channel === undefined) return
    switch (kind) {
      case FRAME.data:
        if (!channel.arrive(payload)) throw new Error(`channel ${id} got what it does not allow`)
        break
      case FRAME.end:
        channel.arriveEnd()
        break
      case FRAME.credit:
        if (payload.length !== CREDIT_BYTES) throw new Error('a credit has four bytes')
        if (!channel.arriveCredit(payload.readUInt32BE(0)))
          throw new Error(`channel ${id} got credit for more than was sent`)
        break
      case FRAME.reset:
        channel.arriveReset('the other side cut it off')
        break
    }
  }

  #accept(id: number, greeting: Buffer): void {
    const { onChannel } = this.#options
    if (this.#channels.has(id)) throw new Error(`channel ${id} is open already`)
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
