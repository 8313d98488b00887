import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Trouble } from '../lifecycle/troubles.ts'

/** Work of backends that failed when it was last done. */
export const troublesSchema = Type.Object({
  troubles: Type.Array(
    Type.Object({
      backend: Type.String(),
      what: Type.String({ description: 'the work, as "cannot" continues' }),
      subject: Type.String({ description: 'what it was done for; empty for the backend as a whole' }),
      message: Type.String({ description: 'the last error' }),
      count: Type.Integer({ description: 'failures since the first one' }),
      first_at: Type.String({ format: 'date-time' }),
      last_at: Type.String({ format: 'date-time' }),
    }),
    { description: 'at most 50 of a kind' },
  ),
})

/** Troubles as clients see them. */
export type WireTroubles = Static<typeof troublesSchema>

/** Encodes troubles. */
export function troublesToWire(troubles: readonly Trouble[]): WireTroubles {
  return {
    troubles: troubles.map(({ firstAt, lastAt, ...trouble }) => ({
      ...trouble,
      first_at: firstAt.toISOString(),
      last_at: lastAt.toISOString(),
    })),
  }
}
