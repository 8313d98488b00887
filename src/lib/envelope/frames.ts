import { Packr, RESERVE_START_SPACE, Unpackr } from 'msgpackr'
import { type EnvelopeReadOptions, type ReceivedEnvelope, readEnvelopes } from '../../native/net/envelopes.ts'
import { addPiece } from '../mux/pieces.ts'
import { receivedFromWire } from './envelope.ts'

/** A frame is a four-byte big-endian length followed by that many bytes of MessagePack. */
const LENGTH_BYTES = 4

const packer = new Packr({ useRecords: false })
const unpacker = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

/** Thrown for an invalid frame, after which the connection cannot be parsed. */
export class FrameFault extends Error {}

/** Encodes a value as MessagePack behind its length in four bytes, big-endian. */
export function encodeFrame(value: unknown): Buffer {
  const frame = packer.pack(value, RESERVE_START_SPACE | LENGTH_BYTES)
  frame.writeUInt32BE(frame.length - LENGTH_BYTES, 0)
  return frame
}

/** Decodes envelopes from arbitrary chunks. A frame's length is checked before memory is allocated (threat B4). */
export class FrameDecoder {
  readonly #handling: EnvelopeReadOptions
  readonly #read: typeof readEnvelopes
  #pieces: Buffer[] = []
  #bytes = 0
  /** Minimum number of bytes for a complete frame. */
  #neededBytes = LENGTH_BYTES

  /** @param maxBytes maximum size of a frame without its length */
  constructor(maxBytes: number, onEnvelope: EnvelopeReadOptions['onEnvelope'], read = readEnvelopes) {
    this.#handling = { maxBytes, onEnvelope, readFrame }
    this.#read = read
  }

  /** Decodes all complete frames. @throws FrameFault after delivering the valid frames before it */
  take(piece: Buffer): void {
    const bytes = this.#joined(piece)
    if (bytes === undefined) return
    const taken = this.#read(bytes, this.#handling)
    if (taken.wrongLength !== undefined)
      throw new FrameFault(
        `a frame of ${taken.wrongLength} bytes is outside the limits of 1 to ${this.#handling.maxBytes}`,
      )
    if (taken.bytes < bytes.length) this.#keep(bytes.subarray(taken.bytes))
  }

  /** Returns all pending bytes once they can contain a frame. */
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

  /** Keeps the start of a frame whose length was checked. */
  #keep(rest: Buffer): void {
    this.#pieces = [rest]
    this.#bytes = rest.length
    if (rest.length >= LENGTH_BYTES) this.#neededBytes = LENGTH_BYTES + rest.readUInt32BE(0)
  }
}

/** Decodes one frame. @throws FrameFault when it is not an envelope */
function readFrame(frame: Buffer): ReceivedEnvelope {
  const envelope = receivedFromWire(decode(frame))
  if (envelope === undefined) throw new FrameFault('a frame is not an envelope')
  return envelope
}

function decode(body: Buffer): unknown {
  try {
    return unpacker.unpack(body)
  } catch (error) {
    throw new FrameFault('a frame is not valid MessagePack', { cause: error })
  }
}
