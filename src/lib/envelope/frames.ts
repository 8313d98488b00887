import { Packr, RESERVE_START_SPACE, Unpackr } from 'msgpackr'
import { type EnvelopeReadOptions, type ReceivedEnvelope, readEnvelopes } from '../../native/net/envelopes.ts'
import { addPiece } from '../mux/pieces.ts'
import { receivedFromWire } from './envelope.ts'

/** A frame is its length in four bytes, big-endian, and as many bytes of MessagePack. */
const LENGTH_BYTES = 4

const packer = new Packr({ useRecords: false })
const unpacker = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

/** Bytes that are no frame: the connection cannot be understood any further. */
export class FrameFault extends Error {}

export function encodeFrame(value: unknown): Buffer {
  const frame = packer.pack(value, RESERVE_START_SPACE | LENGTH_BYTES)
  frame.writeUInt32BE(frame.length - LENGTH_BYTES, 0)
  return frame
}

/** Takes envelopes from bytes that come in any pieces; a frame's length is checked before anything is kept for it (threat B4). */
export class FrameDecoder {
  readonly #handling: EnvelopeReadOptions
  readonly #read: typeof readEnvelopes
  #pieces: Buffer[] = []
  #bytes = 0
  /** Below that there is no whole frame. */
  #neededBytes = LENGTH_BYTES

  /** @param maxBytes the longest frame that is taken, its length not counted */
  constructor(maxBytes: number, onEnvelope: EnvelopeReadOptions['onEnvelope'], read = readEnvelopes) {
    this.#handling = { maxBytes, onEnvelope, readFrame }
    this.#read = read
  }

  /** Hands on what the frames hold that are whole now. @throws FrameFault; what came before in this piece is then handed on */
  take(piece: Buffer): void {
    const bytes = this.#joined(piece)
    if (bytes === undefined) return
    const taken = this.#read(bytes, this.#handling)
    if (taken.wrongLength !== undefined)
      throw new FrameFault(
        `a frame of ${taken.wrongLength} bytes, where 1 to ${this.#handling.maxBytes} are possible`,
      )
    if (taken.bytes < bytes.length) this.#keep(bytes.subarray(taken.bytes))
  }

  /** All that there is, as soon as that can be a frame. */
  #joined(piece: Buffer): Buffer | undefined {
    if (this.#bytes === 0 && piece.length >= LENGTH_BYTES) return piece
    addPiece(this.#pieces, piece)
    this.#bytes += piece.length
    if (this.#bytes < this.#neededBytes) return undefined
    const joined = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    this.#neededBytes = LENGTH_BYTES
    return joined
  }

  /** The beginning of a frame, whose length has been checked. */
  #keep(rest: Buffer): void {
    this.#pieces = [rest]
    this.#bytes = rest.length
    if (rest.length >= LENGTH_BYTES) this.#neededBytes = LENGTH_BYTES + rest.readUInt32BE(0)
  }
}

/** Any frame that holds an envelope. */
function readFrame(frame: Buffer): ReceivedEnvelope {
  const envelope = receivedFromWire(decode(frame))
  if (envelope === undefined) throw new FrameFault('a frame that holds no envelope')
  return envelope
}

function decode(body: Buffer): unknown {
  try {
    return unpacker.unpack(body)
  } catch (error) {
    throw new FrameFault('a frame that holds no MessagePack', { cause: error })
  }
}
