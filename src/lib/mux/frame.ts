import { addPiece } from './pieces.ts'

/**
 * The frames of a multiplexed connection: 4 bytes of channel, 1 of kind, 3 of length (all big-endian), the payload, and one
 * end byte. The end byte exists because a serial line's other side can be replaced in the middle of a frame: it
 * distinguishes a complete frame from one filled with later bytes.
 */
export const FRAME = { open: 1, data: 2, end: 3, credit: 4, reset: 5 } as const
/** Kind of a frame, as its byte on the wire. */
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

/** A frame of a multiplexed connection. */
export interface Frame {
  readonly channel: number
  readonly kind: FrameKind
  readonly payload: Buffer
}

const HEADER_BYTES = 8
const LAST_BYTE = 0xa5
/** Maximum payload of a frame. */
export const MAX_PAYLOAD_BYTES = 64 * 1024
/** Maximum size of a frame: after this many filler bytes, any earlier frame has ended. */
export const MAX_FRAME_BYTES = HEADER_BYTES + MAX_PAYLOAD_BYTES + 1

/** Encodes a frame as chunks to write in order. */
export function encodeFrame(
  channel: number,
  kind: FrameKind,
  payload: Uint8Array = Buffer.alloc(0),
): readonly Uint8Array[] {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(channel, 0)
  header.writeUInt8(kind, 4)
  header.writeUIntBE(payload.length, 5, 3)
  return payload.length === 0 ? [Buffer.concat([header, END])] : [header, payload, END]
}
const END = Buffer.from([LAST_BYTE])

/** Thrown for an invalid frame, after which the connection cannot be parsed. */
export class BrokenFrame extends Error {}

/** Decodes frames from arbitrary chunks. Lengths are checked before memory is allocated (threat B4). */
export class FrameReader {
  #pending: Buffer[] = []
  #pendingBytes = 0

  /** Adds a chunk; `next` then returns its frames. */
  add(chunk: Buffer): void {
    addPiece(this.#pending, chunk)
    this.#pendingBytes += chunk.length
  }

  /** Returns the next complete frame; undefined if there is none yet. @throws BrokenFrame when it is invalid */
  next(): Frame | undefined {
    if (this.#pendingBytes < HEADER_BYTES) return undefined
    const header = this.#look(HEADER_BYTES)
    const kind = header.readUInt8(4)
    const length = header.readUIntBE(5, 3)
    if (!isKind(kind)) throw new BrokenFrame(`${kind} is not a valid frame kind`)
    if (length > MAX_PAYLOAD_BYTES) throw new BrokenFrame(`a frame of ${length} bytes exceeds the limit`)
    const size = HEADER_BYTES + length + 1
    if (this.#pendingBytes < size) return undefined
    const bytes = this.#look(size)
    if (bytes[size - 1] !== LAST_BYTE) throw new BrokenFrame('a frame has no end byte')
    this.#pendingBytes -= size
    const [first = bytes] = this.#pending
    const rest = first.subarray(size)
    if (rest.length > 0) this.#pending[0] = rest
    else this.#pending.shift()
    return { channel: header.readUInt32BE(0), kind, payload: bytes.subarray(HEADER_BYTES, size - 1) }
  }

  /** Returns the first pending bytes as one chunk. */
  #look(size: number): Buffer {
    const [first] = this.#pending
    if (first !== undefined && first.length >= size) return first.subarray(0, size)
    // Joins only what is needed; otherwise many small chunks would be copied repeatedly.
    const taken: Buffer[] = []
    let bytes = 0
    while (bytes < size) {
      const piece = this.#pending.shift()
      if (piece === undefined) break
      taken.push(piece)
      bytes += piece.length
    }
    const joined = Buffer.concat(taken)
    this.#pending.unshift(joined)
    return joined.subarray(0, size)
  }
}

function isKind(kind: number): kind is FrameKind {
  return kind >= FRAME.open && kind <= FRAME.reset
}
