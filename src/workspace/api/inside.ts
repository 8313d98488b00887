import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { ListeningPort } from '../tunnel/listening-ports.ts'
import { STRICT } from './parameters.ts'

/** Number of lines of a log by default. */
export const DEFAULT_LINES = 200

/** Query for a log. */
export const logQuerySchema = Type.Object(
  {
    lines: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: `number of lines; default ${DEFAULT_LINES}` }),
    ),
  },
  STRICT,
)

/** Open ports of a workspace. */
export const portsSchema = Type.Object({
  ports: Type.Array(
    Type.Object({
      port: Type.Integer(),
      address: Type.String({ description: 'address it listens on; tunnels connect to 127.0.0.1' }),
      process: Type.Union([Type.String(), Type.Null()], {
        description: 'name of the process; null if unknown',
      }),
    }),
  ),
})

/** Encodes open ports. */
export function portsToWire(ports: readonly ListeningPort[]): Static<typeof portsSchema> {
  return { ports: ports.map(({ process, ...port }) => ({ ...port, process: process ?? null })) }
}

/** A line of a log as data of a `line` event. */
export interface WireLogLine {
  readonly line: string
}

/** Lines of a log. */
export const logSchema = Type.Object({ lines: Type.Array(Type.String()) })
