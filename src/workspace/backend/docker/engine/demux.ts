import { Readable } from 'node:stream'
import type { Socket } from 'node:net'

const HEADER_BYTES = 8
const STDERR = 2

/**
 * Splits the engine's multiplexed stream into standard output and standard error. A frame has an 8-byte
 * header (stream number, three zeros, big-endian 32-bit length) followed by the payload. A reader that falls
 * behind pauses the socket, so that memory stays bounded; payloads are forwarded as they arrive, never
 * collected.
 */
export function demultiplex(socket: Socket): { readonly stdout: Readable; readonly stderr: Readable } {
  const resume = (): void => void socket.resume()
  const stdout = new Readable({ read: resume })
  const stderr = new Readable({ read: resume })
  let header = Buffer.alloc(0)
  let target = stdout
  let remaining = 0

  const take = (chunk: Buffer): void => {
    let rest = chunk
    while (rest.length > 0) {
      if (remaining === 0) {
        const missing = HEADER_BYTES - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < HEADER_BYTES) return
        target = header[0] === STDERR ? stderr : stdout
        remaining = header.readUInt32BE(4)
        header = Buffer.alloc(0)
      } else {
        const part = rest.subarray(0, remaining)
        rest = rest.subarray(remaining)
        remaining -= part.length
        if (!target.push(part)) socket.pause()
      }
    }
  }

  socket.on('data', take)
  const end = (): void => {
    if (!stdout.readableEnded) stdout.push(null)
    if (!stderr.readableEnded) stderr.push(null)
  }
  socket.once('end', end)
  socket.once('close', end)
  return { stdout, stderr }
}
