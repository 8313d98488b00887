import type { ReceivedEnvelope } from '../../native/net/envelopes.ts'

export type { ReceivedEnvelope } from '../../native/net/envelopes.ts'

/** A bus message. Source: the specification's table of envelope fields. */
export interface Envelope {
  /** UUIDv7. */
  readonly id: string
  readonly namespace: string
  readonly type: 'request' | 'response' | 'event'
  /** The request's id; responses only. */
  readonly inReplyTo?: string
  /** Whether this is the last response; responses only. */
  readonly isFinal?: boolean
  /** RFC 3339. */
  readonly timestamp: string
  readonly payload: Readonly<Record<string, unknown>>
}

const TYPES: readonly unknown[] = ['request', 'response', 'event'] satisfies readonly Envelope['type'][]
/** Pattern of envelope ids: UUIDv7 in lower case. */
export const ID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
const UUID = new RegExp(ID_PATTERN)
/** Pattern of namespaces. */
export const NAMESPACE_PATTERN = '^[A-Za-z0-9._:-]{1,128}$'
const NAMESPACE = new RegExp(NAMESPACE_PATTERN)
const MAX_TIMESTAMP = 40

/** Prefix of namespaces reserved for the server and its agents. */
export const RESERVED = 'system:'

/** Returns whether a value is a valid namespace. */
export function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && NAMESPACE.test(value)
}

/** Returns whether a value is a valid envelope id, a UUID. */
export function isEnvelopeId(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}

/** Value of `payload.operation` in a health request; the response's payload is ignored. */
export const PING = 'ping'

/** Converts an envelope to its wire form, with the specification's field names and without missing fields. */
export function envelopeToWire({ inReplyTo, isFinal, ...same }: Envelope): Readonly<Record<string, unknown>> {
  return {
    ...same,
    ...(inReplyTo !== undefined && { in_reply_to: inReplyTo }),
    ...(isFinal !== undefined && { final: isFinal }),
  }
}

/** Parses an envelope from its wire form; undefined if it is invalid. Unknown fields are dropped. */
export function envelopeFromWire(value: unknown): Envelope | undefined {
  if (!isRecord(value)) return undefined
  const { id, namespace, type, in_reply_to: inReplyTo, final, timestamp, payload } = value
  if (!isEnvelopeId(id) || !isNamespace(namespace) || !TYPES.includes(type) || !isRecord(payload))
    return undefined
  if (typeof timestamp !== 'string' || timestamp.length > MAX_TIMESTAMP) return undefined
  if ((type === 'response') !== isEnvelopeId(inReplyTo)) return undefined
  return {
    id,
    namespace,
    type: type as Envelope['type'],
    timestamp,
    payload,
    ...(isEnvelopeId(inReplyTo) && { inReplyTo, isFinal: final !== false }),
  }
}

/** Parses a received envelope and keeps its payload as JSON text. */
export function receivedFromWire(value: unknown): ReceivedEnvelope | undefined {
  const envelope = envelopeFromWire(value)
  if (envelope === undefined) return undefined
  const { payload, ...head } = envelope
  return { ...head, payloadJson: JSON.stringify(payload) }
}

/** Serializes a received envelope with additional fields; the payload is passed through unchanged. */
export function receivedToJson(
  { payloadJson, inReplyTo, isFinal, ...same }: ReceivedEnvelope,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const reply = inReplyTo === undefined ? undefined : { in_reply_to: inReplyTo, final: isFinal }
  return `${JSON.stringify({ ...same, ...reply, ...more }).slice(0, -1)},"payload":${payloadJson}}`
}

/** Parses the payload of a received envelope. */
export function payloadOf({ payloadJson }: ReceivedEnvelope): Envelope['payload'] {
  return JSON.parse(payloadJson) as Envelope['payload']
}

/** Returns the body with which a listener responds to a workspace's request. */
export function answerToWire(
  workspace: { readonly name: string; readonly server?: string },
  inReplyTo: string,
  payload: Envelope['payload'],
  isFinal = true,
): Readonly<Record<string, unknown>> {
  return { workspace, in_reply_to: inReplyTo, final: isFinal, payload }
}

/** Returns whether a value is an object that is not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
