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

/** An open port of a workspace. */
export const portSchema = Type.Object({
  port: Type.Integer(),
  address: Type.String({
    description: 'address it listens on; tunnels connect to 127.0.0.1, or else to ::1',
  }),
  process: Type.Union([Type.String(), Type.Null()], {
    description: 'name of the process; null if unknown',
  }),
})

/** Open ports of a workspace. */
export const portsSchema = Type.Object({ ports: Type.Array(portSchema) })

/** Encodes an open port. */
export function portToWire({ process, ...port }: ListeningPort): Static<typeof portSchema> {
  return { ...port, process: process ?? null }
}

/** Time for which a client waits for a port by default. */
export const DEFAULT_WAIT_MS = 30_000

/** Query for waiting until a program listens on a port. */
export const waitQuerySchema = Type.Object(
  {
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        description: `time after which the request fails; default ${DEFAULT_WAIT_MS}`,
      }),
    ),
  },
  STRICT,
)

/** A line of a log as data of a `line` event. */
export interface WireLogLine {
  readonly line: string
}

/** Lines of a log. */
export const logSchema = Type.Object({ lines: Type.Array(Type.String()) })
