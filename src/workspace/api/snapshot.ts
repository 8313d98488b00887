import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Snapshot } from '../backend/snapshot.ts'
import { nameSchema, STRICT } from './parameters.ts'

/** A snapshot of a virtual machine's disk. */
export const snapshotSchema = Type.Object(
  {
    version: Type.Literal(1),
    name: Type.String(),
    backend: Type.String({ description: 'firecracker, vz or qemu' }),
    source_workspace: Type.String(),
    source_image: Type.String(),
    size_bytes: Type.Integer({
      description: 'size of its disk, including blocks shared with others',
    }),
    created_at: Type.String(),
    lower_digest: Type.String({ description: 'image that its disk is based on' }),
    lower_cached: Type.Boolean({ description: 'whether that image is stored on this server' }),
    comment: Type.Optional(Type.String()),
    error_message: Type.Optional(Type.String({ description: 'why only its name could be read' })),
  },
  { $id: 'Snapshot' },
)

/** Request body for creating a snapshot. */
export const snapshotBodySchema = Type.Object(
  {
    name: nameSchema,
    source_workspace: nameSchema,
    comment: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])),
  },
  STRICT,
)

/** A snapshot as clients see it. */
export type WireSnapshot = Static<typeof snapshotSchema>

/** Encodes a snapshot. */
export function snapshotToWire(snapshot: Snapshot): WireSnapshot {
  return {
    version: 1,
    name: snapshot.name,
    backend: snapshot.backend,
    source_workspace: snapshot.sourceWorkspace,
    source_image: snapshot.sourceImage,
    size_bytes: snapshot.sizeBytes,
    created_at: snapshot.createdAt.toISOString(),
    lower_digest: snapshot.lowerDigest,
    lower_cached: snapshot.isLowerCached,
    ...(snapshot.comment !== '' && { comment: snapshot.comment }),
    ...(snapshot.failure !== '' && { error_message: snapshot.failure }),
  }
}
