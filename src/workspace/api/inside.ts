import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import type { ListeningPort } from '../tunnel/listening-ports.ts'

const DEFAULT_LINES = 200
const MAX_LINES = 1_000

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

/** Lines of a log. */
export const logSchema = Type.Object({ lines: Type.Array(Type.String()) })

/** Parses the requested number of lines. @throws INVALID_REQUEST when it is not a number from 1 to 1000 */
export function parseLineCount(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LINES
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_LINES) return Number(text)
  throw fault('INVALID_REQUEST', `lines must be a number from 1 to ${MAX_LINES}`)
}
