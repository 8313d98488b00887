import type { Static } from 'typebox'
import {
  ID_PATTERN,
  isEnvelopeId,
  isRecord,
  NAMESPACE_PATTERN,
  receivedToJson,
} from '../../lib/envelope/envelope.ts'
import { Type } from '../../lib/schema/type.ts'
import type { Answer, Listener } from '../bus/bus.ts'
import type { BusEvent } from '../bus/bus-event.ts'
import { type ShownPayload, shownPayload } from '../bus/shown-payload.ts'
import type { ConnectedGuest, ConnectedWorkspace, GuestMessage } from '../bus/guest-message.ts'
import { fault } from '../errors.ts'
import { nameSchema, STRICT } from './parameters.ts'

/** A listener of a namespace. */
export const listenerSchema = Type.Object({
  namespace: Type.String(),
  created_at: Type.String({ description: 'RFC 3339' }),
})

const connectedSchema = Type.Object({
  name: Type.String(),
  backend: Type.String({ description: 'docker, firecracker, vz, qemu or kubernetes' }),
  server: Type.String(),
})

/** A workspace connected to the bus, with its extensions. */
export const connectedGuestSchema = Type.Object({
  ...connectedSchema.properties,
  extensions: Type.Array(
    Type.Object({
      namespace: Type.String(),
      guest: Type.String({
        description: 'state of its service in the workspace: running, stopped, failed, missing …',
      }),
      host: Type.Enum(['connected', 'disconnected'], {
        description: 'whether its listener on the host responds',
      }),
    }),
    { description: 'enabled extensions, as last reported by the agent' },
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

/** A message with its payload. */
export const envelopeSchema = Type.Object(
  {
    ...withoutPayload,
    payload: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  },
  { $id: 'Envelope' },
)

/** A message seen while watching the bus. */
export const busEventSchema = Type.Object({
  ...withoutPayload,
  payload: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'present on request, without values whose key marks them as secret',
    }),
  ),
  payload_left_out: Type.Optional(
    Type.Enum(['secret', 'too_large'], { description: 'why a requested payload is omitted' }),
  ),
  lost: Type.Optional(
    Type.Enum(['no_listener', 'refused', 'expired', 'late'], { description: 'why it was not delivered' }),
  ),
})

/** A bus event as clients see it. */
export type WireBusEvent = Static<typeof busEventSchema>
/** A connected workspace as clients see it. */
export type WireConnected = Static<typeof connectedGuestSchema>
/** A listener as clients see it. */
export type WireListener = Static<typeof listenerSchema>
/** A message as clients see it. */
export type WireEnvelope = Static<typeof envelopeSchema>

/** Body of an answer. `answerFromWire` validates it, because a batch of answers has one per line. */
export const answerSchema = Type.Object({
  workspace: Type.Object({ name: nameSchema, server: Type.Optional(Type.String()) }),
  in_reply_to: Type.String({ pattern: ID_PATTERN, description: 'id of the request' }),
  final: Type.Optional(Type.Boolean({ description: 'whether no further answer follows; default true' })),
  payload: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
})

/** Path parameters that select a namespace. */
export const namespaceParams = Type.Object({
  namespace: Type.String({
    pattern: NAMESPACE_PATTERN,
    description: '1 to 128 letters, digits or any of . _ : -',
  }),
})

/** Query for watching the bus. */
export const watchQuerySchema = Type.Object(
  {
    namespace: Type.Optional(Type.String({ description: 'only messages of this namespace' })),
    payloads: Type.Optional(Type.Boolean({ description: 'include payloads; default false' })),
  },
  STRICT,
)

/** Encodes a listener. */
export function listenerToWire({ namespace, createdAt }: Listener): WireListener {
  return { namespace, created_at: createdAt.toISOString() }
}

function connectedToWire({ name, backend, server }: ConnectedWorkspace): Static<typeof connectedSchema> {
  return { name, backend, server }
}

/** Encodes a connected workspace with its extensions. */
export function connectedGuestToWire(guest: ConnectedGuest): WireConnected {
  return { ...connectedToWire(guest), extensions: guest.extensions.map((each) => ({ ...each })) }
}

/** Returns a `WireEnvelope` as JSON; the guest's message is passed through without parsing. */
export function messageToJson({ envelope, workspace }: GuestMessage): string {
  return receivedToJson(envelope, { workspace: connectedToWire(workspace) })
}

/** Encodes a bus event, with its payload on request and unless it is secret. */
export function busEventToWire({ envelope, workspace, lost }: BusEvent, withPayload: boolean): WireBusEvent {
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

function payloadToWire(shown: ShownPayload): Pick<WireBusEvent, 'payload' | 'payload_left_out'> {
  return shown.is === 'shown' ? { payload: shown.payload } : { payload_left_out: shown.because }
}

/** Parses a listener's answer; ignores other fields. @throws INVALID_BODY and MISSING_WORKSPACE */
export function answerFromWire(body: unknown): Answer {
  if (!isRecord(body)) throw fault('INVALID_BODY', 'the answer is not a JSON object')
  const { workspace, in_reply_to: inReplyTo, final, payload } = body
  const { name, server } = isRecord(workspace) ? workspace : {}
  if (typeof name !== 'string' || name === '')
    throw fault(
      'MISSING_WORKSPACE',
      'workspace.name is required; set it to the workspace that sent the request',
    )
  if (!isEnvelopeId(inReplyTo)) throw fault('INVALID_BODY', 'in_reply_to must be the ID of the request')
  if (!isRecord(payload)) throw fault('INVALID_BODY', 'payload must be a JSON object')
  if (final !== undefined && typeof final !== 'boolean')
    throw fault('INVALID_BODY', 'final must be true or false')
  const answer = { workspaceName: name, inReplyTo, isFinal: final !== false, payload }
  return typeof server === 'string' ? { ...answer, server } : answer
}
