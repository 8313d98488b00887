import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { LibraryImage } from '../image/image-library.ts'
import type { ImageFacts } from '../image/backend-images.ts'

export const imageSchema = Type.Object(
  {
    name: Type.String(),
    backend: Type.String({ description: 'docker, firecracker, vz or qemu' }),
    path: Type.String({ description: "directory on the server, or the engine's identifier" }),
    docker_ref: Type.Optional(Type.String({ description: 'what it was pulled from' })),
    size_bytes: Type.Integer({ description: 'what it takes on disk' }),
    source: Type.Enum(['config', 'user', 'dangling'], {
      description: 'config: named by the configuration; dangling: nothing names it',
    }),
    cached: Type.Boolean({ description: 'whether it is here' }),
    digest: Type.String(),
    tag: Type.String(),
    in_use: Type.Boolean({ description: 'a workspace or a snapshot needs it' }),
    alias: Type.Optional(Type.String()),
    is_default: Type.Optional(Type.Boolean()),
  },
  { $id: 'Image' },
)

export const manifestSchema = Type.Object({
  schema_version: Type.Integer(),
  digest: Type.String(),
  backend: Type.String(),
  arch: Type.String(),
  source_ref: Type.String(),
  source_ref_digest: Type.String(),
  kernel_size: Type.Integer(),
  initrd_size: Type.Integer(),
  rootfs_logical_size: Type.Integer(),
  rootfs_physical_size: Type.Integer(),
  created_at: Type.String(),
})

const backend = Type.Optional(
  Type.String({ description: 'whose image is meant; default the first that has it' }),
)

export const pullBodySchema = Type.Object(
  {
    docker_ref: Type.String({ description: 'Docker image, by tag or digest' }),
    tag: Type.Optional(Type.String({ description: 'what it is called here; default from the reference' })),
    backend: Type.Optional(Type.String({ description: 'default the default backend' })),
  },
  { additionalProperties: false },
)

export const tagBodySchema = Type.Object(
  { source: Type.String(), target: Type.String(), backend },
  { additionalProperties: false },
)

export const backendQuerySchema = Type.Object({ backend })
export const inspectQuerySchema = Type.Object({
  backend,
  verify: Type.Optional(
    Type.String({ description: 'true reads every byte and compares it with the digest' }),
  ),
})
export const pruneQuerySchema = Type.Object({
  dry_run: Type.Optional(Type.String({ description: 'true deletes nothing; default false' })),
})

export type WireImage = Static<typeof imageSchema>
export type WireManifest = Static<typeof manifestSchema>

export function imageToWire(image: LibraryImage): WireImage {
  return {
    name: image.name,
    backend: image.backend,
    path: image.path,
    ...(image.dockerRef !== '' && { docker_ref: image.dockerRef }),
    size_bytes: image.sizeBytes,
    source: image.source,
    cached: image.isCached,
    digest: image.digest,
    tag: image.tag,
    in_use: image.isInUse,
    ...(image.alias !== '' && { alias: image.alias }),
    ...(image.isDefault && { is_default: true }),
  }
}

export function manifestToWire(facts: ImageFacts): WireManifest {
  return {
    schema_version: facts.schemaVersion,
    digest: facts.digest,
    backend: facts.backend,
    arch: facts.arch,
    source_ref: facts.sourceRef,
    source_ref_digest: facts.sourceRefDigest,
    kernel_size: facts.kernelBytes,
    initrd_size: facts.initrdBytes,
    rootfs_logical_size: facts.rootfsLogicalBytes,
    rootfs_physical_size: facts.rootfsPhysicalBytes,
    created_at: facts.createdAt,
  }
}
