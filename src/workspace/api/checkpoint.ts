import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { type Checkpoint, CHECKPOINT_REASONS } from '../backend/checkpoint.ts'
import type { Rewound } from '../lifecycle/checkpointer.ts'
import { nameSchema, STRICT } from './parameters.ts'
import { orNull } from './settings.ts'
import type { EncodeWorkspace, WireWorkspace } from './workspace.ts'

/** A checkpoint of a workspace. */
export const checkpointSchema = Type.Object(
  {
    id: Type.String({ description: '16 hexadecimal digits' }),
    created_at: Type.String({ format: 'date-time' }),
    reason: Type.Enum(CHECKPOINT_REASONS, {
      description: 'why it was taken; rewind: to undo a rewind',
    }),
    label: Type.Optional(Type.String()),
    size_bytes: Type.Optional(
      Type.Integer({ description: 'disk usage, including blocks shared with others; absent if unknown' }),
    ),
  },
  { $id: 'Checkpoint' },
)

/** Request body for taking a checkpoint. */
export const checkpointBodySchema = Type.Object(
  { label: orNull(Type.String({ maxLength: 200, description: 'text to store with the checkpoint' })) },
  STRICT,
)

/** Path of a checkpoint. */
export const checkpointParams = Type.Object({ name: nameSchema, id: Type.String() })

/** Request body for a rewind. */
export const rewindBodySchema = Type.Object(
  {
    to: Type.String({
      minLength: 1,
      maxLength: 80,
      description:
        'id of a checkpoint, or a duration such as 10m for the newest one that is at least that old',
    }),
  },
  STRICT,
)

/** Response to a rewind. */
export const rewoundSchema = Type.Object({
  workspace: Type.Ref('Workspace'),
  to: Type.Ref('Checkpoint'),
  before: Type.Ref('Checkpoint'),
})

/** A checkpoint as clients see it. */
export type WireCheckpoint = Static<typeof checkpointSchema>

/** A workspace after a rewind as clients see it. */
export interface WireRewound {
  readonly workspace: WireWorkspace
  readonly to: WireCheckpoint
  readonly before: WireCheckpoint
}

/** Encodes a checkpoint. */
export function checkpointToWire({ id, createdAt, reason, label, sizeBytes }: Checkpoint): WireCheckpoint {
  return {
    id,
    created_at: createdAt.toISOString(),
    reason,
    ...(label !== '' && { label }),
    ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
  }
}

/** Encodes a workspace after a rewind. */
export function rewoundToWire({ workspace, to, before }: Rewound, encode: EncodeWorkspace): WireRewound {
  return {
    workspace: encode(workspace),
    to: checkpointToWire(to),
    before: checkpointToWire(before),
  }
}
