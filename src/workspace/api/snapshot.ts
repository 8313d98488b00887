import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { Snapshot } from '../backend/snapshot.ts'

export const snapshotSchema = Type.Object(
  {
    version: Type.Literal(1),
    name: Type.String(),
    backend: Type.String({ description: 'firecracker, vz or qemu' }),
    source_workspace: Type.String(),
    source_image: Type.String(),
    size_bytes: Type.Integer({
      description: 'what its disk takes; blocks it shares with others count whole',
    }),
    created_at: Type.String(),
    lower_digest: Type.String({ description: 'the image that its disk lies above' }),
    lower_cached: Type.Boolean({ description: 'whether that image is here' }),
    comment: Type.Optional(Type.String()),
    error_message: Type.Optional(Type.String({ description: 'why nothing but its name is known' })),
  },
  { $id: 'Snapshot' },
)

export const snapshotBodySchema = Type.Object(
  {
    name: Type.String({ description: '1 to 63 letters, digits and hyphens; unique on the server' }),
    source_workspace: Type.String({ description: 'a virtual machine that is stopped' }),
    comment: Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])),
  },
  { additionalProperties: false },
)

export type WireSnapshot = Static<typeof snapshotSchema>

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
