import { Type } from '../../lib/schema/type.ts'
import type { Static } from 'typebox'
import type { Ticket } from '../tickets/ticket-table.ts'

/** Request body for issuing a ticket. */
export const ticketBodySchema = Type.Union([
  Type.Object({ for: Type.Literal('terminal') }, { additionalProperties: false }),
  Type.Object(
    {
      for: Type.Literal('port'),
      port: Type.Integer({ minimum: 1, maximum: 65_535 }),
      valid_s: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 7 * 24 * 3_600,
          description: 'seconds for which the pass is valid, any number of times; default: 30 s, once',
        }),
      ),
    },
    { additionalProperties: false },
  ),
])

/** A ticket as clients see it; on the wire it is named `pass`. */
export const ticketSchema = Type.Object({
  pass: Type.String({ description: 'ticket to send as the parameter `pass`' }),
  expires_at: Type.String({ format: 'date-time' }),
  url: Type.Optional(Type.String({ description: 'for ports only: the URL to open in a browser' })),
})

/** Encodes a ticket. */
export function ticketToWire({ ticket, expiresAt }: Ticket, url?: string): Static<typeof ticketSchema> {
  return { pass: ticket, expires_at: expiresAt.toISOString(), ...(url !== undefined && { url }) }
}
