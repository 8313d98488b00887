import { Type } from '../../lib/schema/type.ts'
import { NAME_PATTERN, NAME_RULE } from '../name.ts'

/** Name of a workspace or snapshot. */
export const nameSchema = Type.String({ pattern: NAME_PATTERN, description: NAME_RULE })

const portSchema = Type.Integer({ minimum: 1, maximum: 65_535 })

/** Path parameters that select a workspace; described here, parsed by the handlers with their own error codes. */
export const workspaceParams = Type.Object({ name: nameSchema })

/** Body of a request that renames a workspace. */
export const renameBodySchema = Type.Object({ name: nameSchema }, { additionalProperties: false })

/** Path parameters that select a port of a workspace. */
export const portParams = Type.Object({ name: nameSchema, port: portSchema })

/** Options of a schema that refuses unknown properties. */
export const STRICT = { additionalProperties: false } as const
