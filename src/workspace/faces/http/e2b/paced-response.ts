import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { COMMON_HEADERS } from '../../../../lib/http/server.ts'

const ROOM_BYTES = 2 ** 18

/** Form of a response. */
interface Pace {
  readonly contentType: string
  /** Keeps the connection alive. */
  readonly ping: Buffer
  readonly pingMs: number
}

/** A response whose senders wait for slow readers. */
export class PacedResponse {
  readonly #response: ServerResponse
  readonly #ping: NodeJS.Timeout
  #room: PromiseWithResolvers<void> | undefined

  /** Sends the header at once. */
  constructor(reply: FastifyReply, { contentType, ping, pingMs }: Pace) {
    reply.hijack()
    const { raw } = reply
    this.#response = raw
    raw.writeHead(200, { ...COMMON_HEADERS, 'content-type': contentType })
    raw.flushHeaders()
    raw.socket?.setNoDelay(true)
    // Pending data shows as well whether the reader is there.
    const send = (): void => void (raw.writableLength === 0 && this.#write(ping))
    this.#ping = setInterval(send, pingMs).unref()
    for (const event of ['drain', 'close'])
      raw.on(event, () => {
        this.#room?.resolve()
        this.#room = undefined
      })
    raw.once('close', () => clearInterval(this.#ping))
  }

  /** Sends bytes; returns a promise while the reader has no room for more. */
  send(bytes: Buffer): Promise<void> | undefined {
    this.#write(bytes)
    if (this.#response.writableLength < ROOM_BYTES || this.#response.destroyed) return undefined
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** Sends the last bytes and ends the response. */
  end(bytes: Buffer): void {
    clearInterval(this.#ping)
    this.#write(bytes)
    this.#response.end()
  }

  /** Cuts the connection, so that the reader does not take the response for complete. */
  cut(): void {
    this.#response.destroy()
  }

  #write(bytes: Buffer): void {
    if (!this.#response.writableEnded && !this.#response.destroyed) this.#response.write(bytes)
  }
}
