import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import type { LibraryImage } from '../image/image-library.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import type { ImageFacts } from '../image/backend-images.ts'
import { STRICT } from './parameters.ts'

/** An image of a backend. */
export const imageSchema = Type.Object(
  {
    name: Type.String(),
    backend: Type.String({ description: 'docker, firecracker, vz, qemu or kubernetes' }),
    path: Type.String({ description: "directory on the server, or the engine's identifier" }),
    docker_ref: Type.Optional(Type.String({ description: 'reference it was pulled from' })),
    size_bytes: Type.Integer({ description: 'size on disk' }),
    source: Type.Enum(['config', 'user', 'dangling'], {
      description: 'config: named in the configuration; user: pulled or tagged; dangling: untagged',
    }),
    cached: Type.Boolean({ description: 'whether it is stored on this server' }),
    digest: Type.String(),
    tag: Type.String(),
    in_use: Type.Boolean({ description: 'whether a workspace or snapshot uses it' }),
    alias: Type.Optional(Type.String()),
    is_default: Type.Optional(Type.Boolean()),
  },
  { $id: 'Image' },
)

/** The manifest of an image. */
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
  Type.Enum(BACKEND_NAMES, { description: 'backend of the image; default the first that has it' }),
)

/** Request body for pulling an image. */
export const pullBodySchema = Type.Object(
  {
    docker_ref: Type.String({ minLength: 1, maxLength: 255, description: 'Docker image, by tag or digest' }),
    tag: Type.Optional(Type.String({ description: 'tag of the image; default derived from the reference' })),
    backend: Type.Optional(
      Type.Enum(BACKEND_NAMES, { description: 'backend to pull for; default the default backend' }),
    ),
  },
  STRICT,
)

/** Request body for tagging an image. */
export const tagBodySchema = Type.Object(
  { source: Type.String({ minLength: 1 }), target: Type.String({ minLength: 1, maxLength: 63 }), backend },
  STRICT,
)

/** Query that selects a backend. */
export const backendQuerySchema = Type.Object({ backend }, STRICT)
/** Query for inspecting an image. */
export const inspectQuerySchema = Type.Object(
  {
    backend,
    verify: Type.Optional(
      Type.Boolean({ description: 'read all data and compare it with the digest; default false' }),
    ),
  },
  STRICT,
)
/** Query for pruning images. */
export const pruneQuerySchema = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ description: 'delete nothing; default false' })) },
  STRICT,
)

/** An image as clients see it. */
export type WireImage = Static<typeof imageSchema>
/** A manifest as clients see it. */
export type WireManifest = Static<typeof manifestSchema>

/** Encodes an image. */
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

/** Encodes an image's manifest. */
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
