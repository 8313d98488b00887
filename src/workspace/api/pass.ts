import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { Ticket } from '../tickets/ticket-table.ts'

export const passBodySchema = Type.Union([
  Type.Object({ for: Type.Literal('terminal') }, { additionalProperties: false }),
  Type.Object(
    { for: Type.Literal('port'), port: Type.Integer({ minimum: 1, maximum: 65_535 }) },
    { additionalProperties: false },
  ),
])

export const passSchema = Type.Object({
  pass: Type.String({ description: 'to be sent once, as the parameter `pass`' }),
  expires_at: Type.String({ format: 'date-time' }),
  url: Type.Optional(Type.String({ description: 'of a port alone: where a browser opens it' })),
})

export function passToWire({ ticket, expiresAt }: Ticket, url?: string): Static<typeof passSchema> {
  return { pass: ticket, expires_at: expiresAt.toISOString(), ...(url !== undefined && { url }) }
}
