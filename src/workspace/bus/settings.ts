import type { Static } from 'typebox'
import { duration, section, size, texts } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'

/** What the configuration says of the bus. */
export const busSection = section({
  request_timeout: duration('30s', 'how long a request of a guest waits for its answer'),
  max_message_bytes: size('1MiB', 'the longest message that is carried, as it is on the wire'),
  token: Type.Optional(
    Type.String({
      minLength: 16,
      writeOnly: true,
      description:
        'what listeners must show in the header Workspace-Bus-Token; without it everybody may listen',
    }),
  ),
  nats: section({
    servers: texts(
      'addresses of NATS servers by which the buses of several servers are one; none: this server alone',
    ),
    token: Type.Optional(
      Type.String({ minLength: 1, writeOnly: true, description: 'what the NATS servers want to be shown' }),
    ),
  }),
})

export interface BusSettings {
  readonly requestTimeoutMs: number
  readonly maxMessageBytes: number
  /** What whoever listens and answers has to show. */
  readonly token: string | undefined
  /** By which it is one with the buses of other servers; undefined for this server alone. */
  readonly nats: NatsSettings | undefined
}

export interface NatsSettings {
  readonly servers: readonly string[]
  readonly token: string | undefined
}

export function busSettings(settings: Static<typeof busSection>): BusSettings {
  const { nats } = settings
  return {
    requestTimeoutMs: settings.request_timeout,
    maxMessageBytes: settings.max_message_bytes,
    token: settings.token,
    nats: nats.servers.length === 0 ? undefined : { servers: nats.servers, token: nats.token },
  }
}
