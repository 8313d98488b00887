import {
  type Envelope,
  isRecord,
  payloadOf,
  type ReceivedEnvelope,
  RESERVED,
} from '../../lib/envelope/envelope.ts'

/** The part of a payload that may be shown, or the reason why nothing is. */
export type ShownPayload =
  | { readonly is: 'shown'; readonly payload: Envelope['payload'] }
  | { readonly is: 'left_out'; readonly because: 'secret' | 'too_large' }

/** Maximum length of the payload's JSON in characters. */
const MAX_LENGTH = 16 * 1024
/** Namespaces in which every payload is or requests a secret. */
const SECRET_NAMESPACES: readonly string[] = ['cloud-credentials']
/** Names of fields that contain credentials, in any spelling. */
const SECRET_FIELD =
  /secret|token|passw|passphrase|credential|authorization|cookie|private.?key|(?:api|access|session|signing).?key/i
const MASKED = '[secret]'

/**
 * Returns a message's payload for people who watch the bus (threats W12, C): nothing in reserved namespaces
 * and those that carry credentials, and elsewhere with the values of secret-sounding fields masked.
 */
export function shownPayload(envelope: Envelope | ReceivedEnvelope): ShownPayload {
  const { namespace } = envelope
  if (namespace.startsWith(RESERVED) || SECRET_NAMESPACES.includes(namespace))
    return { is: 'left_out', because: 'secret' }
  const isReceived = 'payloadJson' in envelope
  const json = isReceived ? envelope.payloadJson : JSON.stringify(envelope.payload)
  if (json.length > MAX_LENGTH) return { is: 'left_out', because: 'too_large' }
  const payload = isReceived ? payloadOf(envelope) : envelope.payload
  return { is: 'shown', payload: masked(payload) as Envelope['payload'] }
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, SECRET_FIELD.test(name) ? MASKED : masked(each)]),
  )
}
