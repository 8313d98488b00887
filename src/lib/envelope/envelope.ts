import type { ReceivedEnvelope } from '../../native/net/envelopes.ts'

export type { ReceivedEnvelope } from '../../native/net/envelopes.ts'

/** A message of the bus. Source: the specification's table of envelope fields. */
export interface Envelope {
  /** UUIDv7. */
  readonly id: string
  readonly namespace: string
  readonly type: 'request' | 'response' | 'event'
  /** Of a response: the request's id. */
  readonly inReplyTo?: string
  /** Of a response: whether it is the last one. */
  readonly isFinal?: boolean
  /** RFC 3339. */
  readonly timestamp: string
  readonly payload: Readonly<Record<string, unknown>>
}

const TYPES: readonly unknown[] = ['request', 'response', 'event'] satisfies readonly Envelope['type'][]
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const NAMESPACE = /^[A-Za-z0-9._:-]{1,128}$/
const MAX_TIMESTAMP = 40

/** What namespaces begin with that the server and its agents alone use. */
export const RESERVED = 'system:'

export function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && NAMESPACE.test(value)
}

export function isEnvelopeId(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}

/** What whoever is asked for a sign of life gets as `payload.operation`; the answer's payload says nothing. */
export const PING = 'ping'

/** What an envelope is on the wire: the field names of the specification, without those that are left out. */
export function envelopeToWire({ inReplyTo, isFinal, ...same }: Envelope): Readonly<Record<string, unknown>> {
  return {
    ...same,
    ...(inReplyTo !== undefined && { in_reply_to: inReplyTo }),
    ...(isFinal !== undefined && { final: isFinal }),
  }
}

/** What came over the wire as an envelope; undefined when it is none. Fields that it should not have are left out. */
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

/** What `envelopeFromWire` takes out of a frame, with its payload as text again. */
export function receivedFromWire(value: unknown): ReceivedEnvelope | undefined {
  const envelope = envelopeFromWire(value)
  if (envelope === undefined) return undefined
  const { payload, ...head } = envelope
  return { ...head, payloadJson: JSON.stringify(payload) }
}

/** An envelope as JSON, with `more` fields; its payload is passed on as it came. */
export function receivedToJson(
  { payloadJson, inReplyTo, isFinal, ...same }: ReceivedEnvelope,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const reply = inReplyTo === undefined ? undefined : { in_reply_to: inReplyTo, final: isFinal }
  return `${JSON.stringify({ ...same, ...reply, ...more }).slice(0, -1)},"payload":${payloadJson}}`
}

/** For whom a message is looks into it. */
export function payloadOf({ payloadJson }: ReceivedEnvelope): Envelope['payload'] {
  return JSON.parse(payloadJson) as Envelope['payload']
}

/** What a listener posts to answer a request of a workspace. */
export function answerToWire(
  workspace: { readonly name: string; readonly server?: string },
  inReplyTo: string,
  payload: Envelope['payload'],
  isFinal = true,
): Readonly<Record<string, unknown>> {
  return { workspace, in_reply_to: inReplyTo, final: isFinal, payload }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
