import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Forked } from '../lifecycle/forker.ts'
import { MAX_FORKS } from '../max-forks.ts'
import { NAME_PATTERN } from '../name.ts'
import { nameSchema, STRICT } from './parameters.ts'
import { orNull } from './settings.ts'
import type { EncodeWorkspace, WireWorkspace } from './workspace.ts'

/** Request body for forking a workspace. */
export const forkBodySchema = Type.Object(
  {
    count: orNull(
      Type.Integer({ minimum: 1, maximum: MAX_FORKS, description: 'number of forks; default 1' }),
    ),
    prefix: orNull(
      Type.String({
        pattern: NAME_PATTERN,
        description: 'names are PREFIX-1, PREFIX-2 …; default NAME-fork, with the next free numbers',
      }),
    ),
    names: orNull(
      Type.Array(nameSchema, {
        minItems: 1,
        maxItems: MAX_FORKS,
        description: 'names of the forks; excludes count and prefix',
      }),
    ),
    checkpoint: orNull(
      Type.String({ maxLength: 80, description: 'id of the checkpoint to fork; default: the current files' }),
    ),
    memory: orNull(
      Type.Boolean({
        description: 'whether they continue its programs; default: where that is possible',
      }),
    ),
  },
  STRICT,
)

/** Response to a fork. */
export const forkedSchema = Type.Object({
  workspaces: Type.Array(Type.Ref('Workspace')),
  memory: Type.Boolean({
    description: 'whether they continue the programs of the source; false: they were booted from its disk',
  }),
  paused_ms: Type.Integer({ description: 'how long the source was paused; 0 if it was not running' }),
})

/** New forks as clients see them. */
export type WireForked = Omit<Static<typeof forkedSchema>, 'workspaces'> & {
  readonly workspaces: WireWorkspace[]
}

/** Encodes new forks. */
export function forkedToWire(
  { workspaces, pausedMs, hasMemory }: Forked,
  encode: EncodeWorkspace,
): WireForked {
  return {
    workspaces: workspaces.map(encode),
    memory: hasMemory,
    paused_ms: pausedMs,
  }
}
