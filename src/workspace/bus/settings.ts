import type { Decoded } from '../../lib/config/decode.ts'
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

export type BusSettings = ReturnType<typeof busSettings>
export type NatsSettings = NonNullable<BusSettings['nats']>

export function busSettings({ nats, ...settings }: Decoded<typeof busSection>) {
  return { ...settings, nats: nats.servers.length === 0 ? undefined : nats }
}
