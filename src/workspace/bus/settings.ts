import type { Static } from 'typebox'
import { duration, section, size } from '../../lib/config/fields.ts'
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
})

export interface BusSettings {
  readonly requestTimeoutMs: number
  readonly maxMessageBytes: number
  /** What whoever listens and answers has to show. */
  readonly token: string | undefined
}

export function busSettings(settings: Static<typeof busSection>): BusSettings {
  return {
    requestTimeoutMs: settings.request_timeout,
    maxMessageBytes: settings.max_message_bytes,
    token: settings.token,
  }
}
