import { Readable } from 'node:stream'
import type { Socket } from 'node:net'

const HEADER_BYTES = 8
const STDERR = 2

/** A piece of a frame's payload. */
interface Part {
  readonly isError: boolean
  readonly bytes: Buffer
}

/**
 * Parses the engine's multiplexed stream. A frame has an 8-byte header (stream number, three zeros, big-endian 32-bit length)
 * followed by the payload, which is passed on as it arrives, never collected.
 */
export class FrameParser {
  #header = Buffer.alloc(0)
  #isError = false
  #remaining = 0;

  /** Returns the payloads in the next bytes of the stream. */
  *read(chunk: Buffer): Generator<Part> {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#remaining === 0) {
        const missing = HEADER_BYTES - this.#header.length
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (this.#header.length < HEADER_BYTES) return
        this.#isError = this.#header[0] === STDERR
        this.#remaining = this.#header.readUInt32BE(4)
        this.#header = Buffer.alloc(0)
      } else {
        const bytes = rest.subarray(0, this.#remaining)
        rest = rest.subarray(this.#remaining)
        this.#remaining -= bytes.length
        yield { isError: this.#isError, bytes }
      }
    }
  }
}

/**
 * Splits the engine's multiplexed stream into standard output and standard error. A reader that falls behind pauses the socket, so
 * that memory stays bounded.
 */
export function demultiplex(socket: Socket): { readonly stdout: Readable; readonly stderr: Readable } {
  const resume = (): void => void socket.resume()
  const stdout = new Readable({ read: resume })
  const stderr = new Readable({ read: resume })
  const frames = new FrameParser()
  socket.on('data', (chunk: Buffer) => {
    for (const { isError, bytes } of frames.read(chunk))
      if (!(isError ? stderr : stdout).push(bytes)) socket.pause()
  })
  const end = (): void => {
    if (!stdout.readableEnded) stdout.push(null)
    if (!stderr.readableEnded) stderr.push(null)
  }
  socket.once('end', end)
  socket.once('close', end)
  return { stdout, stderr }
}
