import type { Duplex } from 'node:stream'
import { addPiece } from '../mux/pieces.ts'

const LENGTH_BYTES = 4
/** Maximum size of a host's request; fits an environment and arguments. */
const MAX_REQUEST_BYTES = 2 * 1024 * 1024
/** Maximum size of a guest's response, which contains at most a path or a message. */
export const MAX_ANSWER_BYTES = 64 * 1024

/** Encodes a message: its length (32 bits, big-endian), then JSON. */
export function encodeMessage(message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(json.length, 0)
  return Buffer.concat([length, json])
}

/**
 * Reads exactly one message from a connection; later bytes stay for the next reader. Returns undefined if the
 * connection ends before it.
 *
 * @throws Error for an invalid message; its length is checked before memory is allocated
 */
export async function readMessage(connection: Duplex, mostBytes = MAX_REQUEST_BYTES): Promise<unknown> {
  const length = await readExactly(connection, LENGTH_BYTES)
  if (length === undefined) return undefined
  const bytes = length.readUInt32BE(0)
  if (bytes > mostBytes)
    throw new Error(`a message of ${bytes} bytes is over the limit of ${mostBytes} bytes`)
  const json = await readExactly(connection, bytes)
  return json === undefined ? undefined : JSON.parse(json.toString())
}

/** Reads a number of bytes and puts excess bytes back; undefined if the connection ends first. */
async function readExactly(connection: Duplex, bytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let missing = bytes
  while (missing > 0) {
    const piece = connection.read() as Buffer | null
    if (piece === null) {
      if (connection.readableEnded || connection.destroyed) return undefined
      await readable(connection)
      continue
    }
    addPiece(pieces, piece.subarray(0, missing))
    if (piece.length > missing) connection.unshift(piece.subarray(missing))
    missing -= Math.min(missing, piece.length)
  }
  return Buffer.concat(pieces)
}

function readable(connection: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error): void => {
      for (const event of ['readable', 'end', 'close'] as const) connection.off(event, done)
      connection.off('error', settle)
      if (error === undefined) resolve()
      else reject(error)
    }
    const done = (): void => settle()
    for (const event of ['readable', 'end', 'close'] as const) connection.on(event, done)
    connection.on('error', settle)
  })
}
