import { warnOfFallback } from '../fallback-warning.ts'
import { loadAddon } from '../load.ts'

const LENGTH_BYTES = 4
/** Number of leading values in the addon's result, and of values per frame. */
const [FIRST, COLUMNS] = [2, 3]
const ID_LENGTH = 36
/** Offset of the timestamp in a head; see native/binding/read-envelopes.h. */
const TIMESTAMP_AT = ID_LENGTH + 2

/** A received bus message. Its payload is a JSON object, kept as text until it is needed. */
export interface ReceivedEnvelope {
  readonly id: string
  readonly namespace: string
  readonly type: 'request' | 'response' | 'event'
  readonly inReplyTo?: string
  readonly isFinal?: boolean
  readonly timestamp: string
  readonly payloadJson: string
}

/** Options for reading envelopes. */
export interface EnvelopeReadOptions {
  /** Maximum size of a frame, without its length. */
  readonly maxBytes: number
  /** @param bytes size of its frame */
  readonly onEnvelope: (envelope: ReceivedEnvelope, bytes: number) => void
  /**
   * Reads any frame; used for frames that the addon cannot convert to JSON exactly. @throws when a frame is
   * not an envelope
   */
  readonly readFrame: (frame: Buffer) => ReceivedEnvelope
}

/** Result of reading envelopes. */
export interface EnvelopeReadResult {
  readonly bytes: number
  /** Length of the next frame if it is zero or exceeds the limit (threat B4). */
  readonly wrongLength?: number
}

/**
 * Reads all complete frames at the start of the bytes in one call of the addon. A frame is its length (32
 * bits, big-endian) and MessagePack.
 */
export function readEnvelopes(bytes: Buffer, handling: EnvelopeReadOptions): EnvelopeReadResult {
  const loaded = loadAddon()
  if (loaded.is === 'absent') {
    warnOfFallback('reading messages', loaded.reason)
    return readEnvelopesInJs(bytes, handling)
  }
  const { maxBytes, onEnvelope, readFrame } = handling
  const row = loaded.addon.readEnvelopes(bytes, maxBytes)
  for (let at = FIRST; at < row.length; at += COLUMNS) {
    const head = row[at] as string | number
    const length = row[at + 2] as number
    if (typeof head === 'string') onEnvelope(envelopeOf(head, row[at + 1] as string), length)
    else onEnvelope(readFrame(bytes.subarray(head, head + length)), length)
  }
  return resultOf((row[0] as number | undefined) ?? bytes.length, row[1] as number | undefined)
}

/** JavaScript fallback of `readEnvelopes`. */
export function readEnvelopesInJs(
  bytes: Buffer,
  { maxBytes, onEnvelope, readFrame }: EnvelopeReadOptions,
): EnvelopeReadResult {
  let at = 0
  while (bytes.length - at >= LENGTH_BYTES) {
    const length = bytes.readUInt32BE(at)
    if (length === 0 || length > maxBytes) return resultOf(at, length)
    const begin = at + LENGTH_BYTES
    if (bytes.length - begin < length) break
    onEnvelope(readFrame(bytes.subarray(begin, begin + length)), length)
    at = begin + length
  }
  return resultOf(at, undefined)
}

function envelopeOf(head: string, payloadJson: string): ReceivedEnvelope {
  const id = head.slice(0, ID_LENGTH)
  const kind = head[ID_LENGTH]
  const timestampEnd = TIMESTAMP_AT + head.charCodeAt(ID_LENGTH + 1) - 0x30
  const timestamp = head.slice(TIMESTAMP_AT, timestampEnd)
  if (kind === 'q' || kind === 'e') {
    const type = kind === 'q' ? 'request' : 'event'
    return { id, namespace: head.slice(timestampEnd), type, timestamp, payloadJson }
  }
  const replyEnd = timestampEnd + ID_LENGTH
  return {
    id,
    namespace: head.slice(replyEnd),
    type: 'response',
    inReplyTo: head.slice(timestampEnd, replyEnd),
    isFinal: kind === 'f',
    timestamp,
    payloadJson,
  }
}

function resultOf(bytes: number, wrongLength: number | undefined): EnvelopeReadResult {
  return wrongLength === undefined ? { bytes } : { bytes, wrongLength }
}
