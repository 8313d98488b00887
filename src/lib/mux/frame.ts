import { addPiece } from './pieces.ts'

/**
 * The frames of a multiplexed connection: 4 bytes of channel, 1 of kind, 3 of length (all big-endian), the payload, and one
 * byte that ends it. The last byte is there because a serial line's other side can be replaced in the middle of a frame:
 * what it then fills up with is told from a frame that was meant.
 */
export const FRAME = { open: 1, data: 2, end: 3, credit: 4, reset: 5 } as const
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

export interface Frame {
  readonly channel: number
  readonly kind: FrameKind
  readonly payload: Buffer
}

const HEADER_BYTES = 8
const LAST_BYTE = 0xa5
/** The longest payload that is sent or taken. */
export const MAX_PAYLOAD_BYTES = 64 * 1024
/** The longest frame: so much has to be filled up for the one before to have ended. */
export const MAX_FRAME_BYTES = HEADER_BYTES + MAX_PAYLOAD_BYTES + 1

/** The bytes of a frame, in pieces to be written one after the other. */
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

/** Bytes that are no frame: the connection cannot be understood any further. */
export class BrokenFrame extends Error {}

/** Takes frames from bytes that come in any pieces. Lengths are checked before anything is kept (threat B4). */
export class FrameReader {
  #pending: Buffer[] = []
  #pendingBytes = 0

  /** Adds bytes, whose frames `next` then returns. */
  add(chunk: Buffer): void {
    addPiece(this.#pending, chunk)
    this.#pendingBytes += chunk.length
  }

  /** Returns the next frame that is whole; undefined when there is none yet. @throws BrokenFrame */
  next(): Frame | undefined {
    if (this.#pendingBytes < HEADER_BYTES) return undefined
    const header = this.#look(HEADER_BYTES)
    const kind = header.readUInt8(4)
    const length = header.readUIntBE(5, 3)
    if (!isKind(kind)) throw new BrokenFrame(`${kind} is no kind of frame`)
    if (length > MAX_PAYLOAD_BYTES) throw new BrokenFrame(`a frame of ${length} bytes is over the limit`)
    const size = HEADER_BYTES + length + 1
    if (this.#pendingBytes < size) return undefined
    const bytes = this.#look(size)
    if (bytes[size - 1] !== LAST_BYTE) throw new BrokenFrame('a frame does not end as frames do')
    this.#pendingBytes -= size
    const [first = bytes] = this.#pending
    const rest = first.subarray(size)
    if (rest.length > 0) this.#pending[0] = rest
    else this.#pending.shift()
    return { channel: header.readUInt32BE(0), kind, payload: bytes.subarray(HEADER_BYTES, size - 1) }
  }

  /** The first bytes in one piece, which are then the first of what is pending. */
  #look(size: number): Buffer {
    const [first] = this.#pending
    if (first !== undefined && first.length >= size) return first.subarray(0, size)
    // Only as much is joined as is asked for: many small pieces would else be copied again and again.
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
