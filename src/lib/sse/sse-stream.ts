import type { ServerResponse } from 'node:http'

const HEARTBEAT_MS = 15_000
const MAX_PENDING_BYTES = 2 ** 20
const ROOM_BYTES = 2 ** 18
const MAX_HELD_BYTES = 2 ** 16

/**
 * Encodes an event; `data` is one line of JSON. Without a name, readers use the default `message`.
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
 * A reader of server-sent events. A comment every 15 s keeps the connection alive; a reader
 * that is more than 1 MiB behind at the next event is dropped (threat H12), so that it uses bounded
 * memory and notices a lost connection instead of silently missing events.
 */
export class SseStream {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  readonly #onDrop: () => void
  readonly #closed: Promise<void>
  #held: NodeJS.Immediate | undefined
  #heldBytes = 0
  /** Settled when there is room again. */
  #room: PromiseWithResolvers<void> | undefined

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
    this.#heartbeat = setInterval(() => {
      // Pending data shows as well whether the reader is there.
      if (this.pendingBytes === 0) this.#write(': ping\n\n')
    }, HEARTBEAT_MS)
    this.#heartbeat.unref()
    for (const event of ['drain', 'close']) response.on(event, () => this.#announceRoom())
    void this.#closed.then(() => clearInterval(this.#heartbeat))
  }

  /** Resolves when the connection is closed by either side. */
  get closed(): Promise<void> {
    return this.#closed
  }

  /** Number of bytes that the reader has not taken. */
  get pendingBytes(): number {
    return this.#response.writableLength
  }

  /** Whether the reader keeps up; a sender that waits for room never drops it. */
  get hasRoom(): boolean {
    return this.pendingBytes < ROOM_BYTES
  }

  /** Resolves when the reader keeps up or has disconnected. */
  async waitForRoom(): Promise<void> {
    if (this.hasRoom || this.#response.destroyed) return
    this.#room ??= Promise.withResolvers()
    await this.#room.promise
  }

  /** Calls the listener whenever all sent data has been flushed. */
  onDrain(listener: () => void): void {
    this.#response.on('drain', listener)
  }

  /** Drops a reader that takes nothing of pending data for that long. */
  dropWhenStalled(limitMs: number): void {
    // Node restarts this timer whenever part of a write is taken. On the socket, it would close an idle stream.
    this.#response.setTimeout(limitMs, () => {
      if (this.pendingBytes > 0) this.#drop()
    })
  }

  send(data: unknown, event?: string): void {
    this.#write(encodeEvent(data, event))
  }

  /** Sends an event with single-line JSON data. */
  sendJson(json: string, event: string, id?: string): void {
    this.#write(encodeJson(json, `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}`))
  }

  /** Sends an event encoded once for all readers. */
  sendEncoded(event: Buffer): void {
    this.#write(event)
  }

  /** Closes the stream after pending data. */
  end(): void {
    clearInterval(this.#heartbeat)
    // Node sends the end of a chunked response before corked data, which is then lost.
    if (this.#held !== undefined) this.#release()
    this.#response.end()
  }

  #write(event: string | Buffer): void {
    if (this.#response.writableEnded || this.#response.destroyed) return
    // Checked before sending, so that one event over the limit does not drop a reader that keeps up.
    if (this.pendingBytes > MAX_PENDING_BYTES) return this.#drop()
    this.#response.write(event)
    this.#hold(event.length)
  }

  #drop(): void {
    this.#onDrop()
    this.#response.destroy()
  }

  #announceRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  /** Corks events of one event loop iteration up to a limit, because each separate write is a system call. */
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
