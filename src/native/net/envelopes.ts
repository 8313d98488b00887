import { warnOfFallback } from '../fallback-warning.ts'
import { loadAddon } from '../load.ts'

const LENGTH_BYTES = 4
/** Of the addon's answer: what it says first, and what it says of each frame. */
const [FIRST, COLUMNS] = [2, 3]
const ID_LENGTH = 36
/** Where a head has its timestamp; see native/binding/read-envelopes.h. */
const TIMESTAMP_AT = ID_LENGTH + 2

/** A message of the bus as it came: its payload is a JSON object, and stays text where nobody looks into it. */
export interface ReceivedEnvelope {
  readonly id: string
  readonly namespace: string
  readonly type: 'request' | 'response' | 'event'
  readonly inReplyTo?: string
  readonly isFinal?: boolean
  readonly timestamp: string
  readonly payloadJson: string
}

/** What happens to a stream's bytes. */
export interface EnvelopeHandling {
  /** The longest frame that is taken, its length not counted. */
  readonly maxBytes: number
  /** @param bytes how long its frame is */
  readonly onEnvelope: (envelope: ReceivedEnvelope, bytes: number) => void
  /** Reads any frame; the addon leaves to it whatever JSON has not just so. @throws where a frame holds no envelope */
  readonly readFrame: (frame: Buffer) => ReceivedEnvelope
}

export interface EnvelopesTaken {
  readonly bytes: number
  /** What the next frame says it is long, when that is nothing or over the bound (threat B4). */
  readonly wrongLength?: number
}

/** Takes the whole frames that bytes begin with, all in one call of the addon; a frame is its length (32 bits, big-endian) and MessagePack. */
export function readEnvelopes(bytes: Buffer, handling: EnvelopeHandling): EnvelopesTaken {
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
  return takenOf((row[0] as number | undefined) ?? bytes.length, row[1] as number | undefined)
}

/** The twin of the addon's. */
export function readEnvelopesInJs(
  bytes: Buffer,
  { maxBytes, onEnvelope, readFrame }: EnvelopeHandling,
): EnvelopesTaken {
  let at = 0
  while (bytes.length - at >= LENGTH_BYTES) {
    const length = bytes.readUInt32BE(at)
    if (length === 0 || length > maxBytes) return takenOf(at, length)
    const begin = at + LENGTH_BYTES
    if (bytes.length - begin < length) break
    onEnvelope(readFrame(bytes.subarray(begin, begin + length)), length)
    at = begin + length
  }
  return takenOf(at, undefined)
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

function takenOf(bytes: number, wrongLength: number | undefined): EnvelopesTaken {
  return wrongLength === undefined ? { bytes } : { bytes, wrongLength }
}
