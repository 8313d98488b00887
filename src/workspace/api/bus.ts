import type { Static } from 'typebox'
import { isEnvelopeId, isRecord, receivedToJson } from '../../lib/envelope/envelope.ts'
import { Type } from '../../lib/schema/type.ts'
import type { Answer, Listener } from '../bus/bus.ts'
import type { BusEvent } from '../bus/bus-event.ts'
import { type ShownPayload, shownPayload } from '../bus/shown-payload.ts'
import type { ConnectedGuest, ConnectedWorkspace, GuestMessage } from '../bus/guest-message.ts'
import { fault } from '../errors.ts'

export const listenerSchema = Type.Object({
  namespace: Type.String(),
  created_at: Type.String({ description: 'RFC 3339' }),
})

const connectedSchema = Type.Object({
  name: Type.String(),
  backend: Type.String({ description: 'docker, firecracker, vz or qemu' }),
  server: Type.String(),
})

export const connectedGuestSchema = Type.Object({
  ...connectedSchema.properties,
  extensions: Type.Array(
    Type.Object({
      namespace: Type.String(),
      guest: Type.String({ description: 'its service inside: running, stopped, failed, missing …' }),
      host: Type.Enum(['connected', 'disconnected'], {
        description: 'whether its listener on the host answers',
      }),
    }),
    { description: 'those that are enabled, as its agent last told' },
  ),
})

const withoutPayload = {
  id: Type.String({ description: 'UUIDv7' }),
  namespace: Type.String(),
  type: Type.Enum(['request', 'response', 'event']),
  in_reply_to: Type.Optional(Type.String()),
  final: Type.Optional(Type.Boolean()),
  timestamp: Type.String({ description: 'RFC 3339' }),
  workspace: connectedSchema,
}

export const envelopeSchema = Type.Object(
  {
    ...withoutPayload,
    payload: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  },
  { $id: 'Envelope' },
)

export const newsSchema = Type.Object({
  ...withoutPayload,
  payload: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'where it was asked for, without what is called after a secret',
    }),
  ),
  payload_left_out: Type.Optional(
    Type.Enum(['secret', 'too_large'], { description: 'why there is none where it was asked for' }),
  ),
  lost: Type.Optional(
    Type.Enum(['no_listener', 'refused', 'expired', 'late'], { description: 'why it did not arrive' }),
  ),
})

export type WireNews = Static<typeof newsSchema>
export type WireConnected = Static<typeof connectedGuestSchema>
export type WireListener = Static<typeof listenerSchema>
export type WireEnvelope = Static<typeof envelopeSchema>

export function listenerToWire({ namespace, createdAt }: Listener): WireListener {
  return { namespace, created_at: createdAt.toISOString() }
}

function connectedToWire({ name, backend, server }: ConnectedWorkspace): Static<typeof connectedSchema> {
  return { name, backend, server }
}

export function connectedGuestToWire(guest: ConnectedGuest): WireConnected {
  return { ...connectedToWire(guest), extensions: guest.extensions.map((each) => ({ ...each })) }
}

/** A `WireEnvelope` as JSON: what a guest said passes unread. */
export function messageToJson({ envelope, workspace }: GuestMessage): string {
  return receivedToJson(envelope, { workspace: connectedToWire(workspace) })
}

/** The payload only where it is asked for, and as far as it may be shown. */
export function newsToWire({ envelope, workspace, lost }: BusEvent, withPayload: boolean): WireNews {
  const { id, namespace, type, inReplyTo, isFinal, timestamp } = envelope
  return {
    id,
    namespace,
    type,
    ...(inReplyTo !== undefined && { in_reply_to: inReplyTo }),
    ...(isFinal !== undefined && { final: isFinal }),
    timestamp,
    workspace: connectedToWire(workspace),
    ...(lost !== undefined && { lost }),
    ...(withPayload && payloadToWire(shownPayload(envelope))),
  }
}

function payloadToWire(shown: ShownPayload): Pick<WireNews, 'payload' | 'payload_left_out'> {
  return shown.is === 'shown' ? { payload: shown.payload } : { payload_left_out: shown.because }
}

/** What a listener says, as far as it is heeded. @throws INVALID_BODY and MISSING_WORKSPACE */
export function answerFromWire(body: unknown): Answer {
  if (!isRecord(body)) throw fault('INVALID_BODY', 'an answer is a JSON object')
  const { workspace, in_reply_to: inReplyTo, final, payload } = body
  const { name, server } = isRecord(workspace) ? workspace : {}
  if (typeof name !== 'string' || name === '')
    throw fault('MISSING_WORKSPACE', 'workspace.name must say whose request is answered')
  if (!isEnvelopeId(inReplyTo)) throw fault('INVALID_BODY', 'in_reply_to must be the id of the request')
  if (!isRecord(payload)) throw fault('INVALID_BODY', 'payload must be a JSON object')
  if (final !== undefined && typeof final !== 'boolean')
    throw fault('INVALID_BODY', 'final must be true or false')
  const answer = { workspaceName: name, inReplyTo, isFinal: final !== false, payload }
  return typeof server === 'string' ? { ...answer, server } : answer
}
