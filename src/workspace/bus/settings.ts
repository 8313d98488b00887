import type { Decoded } from '../../lib/config/decode.ts'
import { configFault } from '../../lib/config/check.ts'
import { duration, optionalText, section, size, texts } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'

/** Config section `bus`. */
export const busSection = section({
  request_timeout: duration('30s', "how long a guest's request waits for an answer"),
  max_message_bytes: size('1MiB', 'maximum message size on the wire'),
  token: Type.Optional(
    Type.String({
      minLength: 16,
      writeOnly: true,
      description:
        'token that listeners must send in the header Workspace-Bus-Token; without it any client can listen',
    }),
  ),
  token_file: optionalText('file with that token, which may be replaced while the server runs'),
  nats: section({
    servers: texts(
      'addresses of the NATS servers that join the buses of several servers; empty: this server only',
    ),
    token: Type.Optional(
      Type.String({ minLength: 1, writeOnly: true, description: 'token for the NATS servers' }),
    ),
  }),
})

/** Decoded section `bus`. */
export type BusSettings = ReturnType<typeof busSettings>
/** Decoded section `bus.nats`. */
export type NatsSettings = NonNullable<BusSettings['nats']>

/**
 * Resolves the section; NATS is undefined without servers.
 *
 * @param defaultFile of the token; undefined if none is required by default
 * @throws CONFIG_INVALID when it has two tokens
 */
export function busSettings({ nats, ...settings }: Decoded<typeof busSection>, defaultFile?: string) {
  const { token, tokenFile = token === undefined ? defaultFile : undefined } = settings
  if (token !== undefined && tokenFile !== undefined)
    throw configFault('CONFIG_INVALID', 'bus.token and bus.token_file are both set; remove one of them')
  return { ...settings, tokenFile, nats: nats.servers.length === 0 ? undefined : nats }
}
