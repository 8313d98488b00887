import { Packr, Unpackr } from 'msgpackr'

/** A frame is its length in four bytes, big-endian, and as many bytes of MessagePack. */
const LENGTH_BYTES = 4

const packer = new Packr({ useRecords: false })
const unpacker = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

/** Bytes that are no frame: the connection cannot be understood any further. */
export class FrameFault extends Error {}

export function encodeFrame(value: unknown): Buffer {
  const body = packer.pack(value)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + body.length)
  frame.writeUInt32BE(body.length, 0)
  body.copy(frame, LENGTH_BYTES)
  return frame
}

/** Takes frames from bytes that come in any pieces; a length is checked before anything is kept for it (threat B4). */
export class FrameDecoder {
  readonly #maxBytes: number
  #pieces: Buffer[] = []
  #bytes = 0

  /** @param maxBytes the longest frame that is taken, its length not counted */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** What the frames hold that are whole now, and their sizes. Throws FrameFault; what came before in this piece is then lost. */
  take(piece: Buffer): readonly { readonly value: unknown; readonly bytes: number }[] {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    const values: { readonly value: unknown; readonly bytes: number }[] = []
    for (;;) {
      const length = this.#nextLength()
      if (length === undefined || this.#bytes < LENGTH_BYTES + length) return values
      const joined = this.#joined()
      values.push({ value: decode(joined.subarray(LENGTH_BYTES, LENGTH_BYTES + length)), bytes: length })
      const rest = joined.subarray(LENGTH_BYTES + length)
      this.#pieces = rest.length === 0 ? [] : [rest]
      this.#bytes = rest.length
    }
  }

  #nextLength(): number | undefined {
    if (this.#bytes < LENGTH_BYTES) return undefined
    const [first] = this.#pieces
    const head = first !== undefined && first.length >= LENGTH_BYTES ? first : this.#joined()
    const length = head.readUInt32BE(0)
    if (length > 0 && length <= this.#maxBytes) return length
    throw new FrameFault(`a frame of ${length} bytes, where 1 to ${this.#maxBytes} are possible`)
  }

  #joined(): Buffer {
    const [first] = this.#pieces
    if (first !== undefined && this.#pieces.length === 1) return first
    const joined = Buffer.concat(this.#pieces)
    this.#pieces = [joined]
    return joined
  }
}

function decode(body: Buffer): unknown {
  try {
    return unpacker.unpack(body)
  } catch (error) {
    throw new FrameFault('a frame that holds no MessagePack', { cause: error })
  }
}
