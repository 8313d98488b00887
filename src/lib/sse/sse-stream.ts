import type { ServerResponse } from 'node:http'
import { noticeLoss } from '../../native/net/tcp.ts'

const HEARTBEAT_MS = 15_000
const LOSS_MS = 12_000
const MAX_PENDING_BYTES = 2 ** 20
const ROOM_BYTES = 2 ** 18
const MAX_HELD_BYTES = 2 ** 16

/**
 * An event as it goes over the wire; `data` is one line of JSON. Without a name it is the reader's default `message`.
 */
export function encodeEvent(data: unknown, event?: string, id?: number): Buffer {
  const name = event === undefined ? '' : `event: ${event}\n`
  const number = id === undefined ? '' : `id: ${id}\n`
  return encodeJson(JSON.stringify(data), name + number)
}

function encodeJson(json: string, fields: string): Buffer {
  return Buffer.from(`${fields}data: ${json}\n\n`)
}

/**
 * One reader of server-sent events. A comment every 15 s keeps the connection alive and shows a dead one; a reader
 * that has let more than 1 MiB pile up when the next event comes is dropped (threat H12), so that it costs bounded
 * memory and is told by the loss of the connection rather than by silently missing events.
 */
export class SseStream {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  readonly #onDrop: () => void
  readonly #closed: Promise<void>
  #held: NodeJS.Immediate | undefined
  #heldBytes = 0

  constructor(response: ServerResponse, options: { readonly onDrop?: () => void } = {}) {
    this.#response = response
    this.#onDrop = options.onDrop ?? (() => undefined)
    this.#closed = new Promise((resolve) => response.once('close', resolve))
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    response.flushHeaders()
    response.socket?.setNoDelay(true)
    // A reader that vanished acknowledges no heartbeat: it is gone 27 s later at the most (fault F31).
    if (response.socket) noticeLoss(response.socket, LOSS_MS)
    this.#heartbeat = setInterval(() => this.#write(': ping\n\n'), HEARTBEAT_MS)
    this.#heartbeat.unref()
    void this.#closed.then(() => clearInterval(this.#heartbeat))
  }

  /** Resolves when the connection is gone, whoever ended it. */
  get closed(): Promise<void> {
    return this.#closed
  }

  /** Whether the reader keeps up; who can wait with more until it does never has it dropped. */
  get hasRoom(): boolean {
    return this.#response.writableLength < ROOM_BYTES
  }

  /** Calls back whenever all that was sent is on its way. */
  onDrain(listener: () => void): void {
    this.#response.on('drain', listener)
  }

  send(data: unknown, event?: string): void {
    this.#write(encodeEvent(data, event))
  }

  /** Sends an event whose data is JSON already, in one line. */
  sendJson(json: string, event: string): void {
    this.#write(encodeJson(json, `event: ${event}\n`))
  }

  /** Sends an event that is encoded already, once for all its readers. */
  sendEncoded(event: Buffer): void {
    this.#write(event)
  }

  /** Ends the stream after what was sent. */
  end(): void {
    clearInterval(this.#heartbeat)
    // Node sends the end of a chunked answer before what is corked, which is then lost.
    if (this.#held !== undefined) this.#release()
    this.#response.end()
  }

  #write(event: string | Buffer): void {
    if (this.#response.writableEnded || this.#response.destroyed) return
    // Before, so that one event larger than the bound does not drop whoever reads in time.
    if (this.#response.writableLength > MAX_PENDING_BYTES) {
      this.#onDrop()
      this.#response.destroy()
    } else {
      this.#response.write(event)
      this.#hold(event.length)
    }
  }

  /** What one look at all connections brings leaves together, up to a bound: each write of its own is a call of the system. */
  #hold(bytes: number): void {
    if (this.#held === undefined) {
      this.#response.cork()
      this.#held = setImmediate(() => this.#release())
    }
    this.#heldBytes += bytes
    if (this.#heldBytes >= MAX_HELD_BYTES) this.#release()
  }

  #release(): void {
    clearImmediate(this.#held)
    this.#held = undefined
    this.#heldBytes = 0
    this.#response.uncork()
  }
}
