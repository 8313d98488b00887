import { createHash } from 'node:crypto'
import type { Static } from 'typebox'
import { complaint, fits } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { IMAGE_BACKENDS } from './image-backend.ts'

const MANIFEST_VERSION = 1

/** Names of the files that a VM boots from. */
export const BOOT_FILES = ['rootfs.ext4', 'kernel', 'initrd'] as const
/** Name of a boot file. */
export type BootFile = (typeof BOOT_FILES)[number]

const digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })
const bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const fileSchema = Type.Object({ digest, bytes })

const manifestSchema = Type.Object({
  schemaVersion: Type.Literal(MANIFEST_VERSION),
  /** Digest over the image's architecture and the digests of its files. */
  digest,
  backend: Type.Enum(IMAGE_BACKENDS),
  /** In Node's notation: x64, arm64. */
  arch: Type.String(),
  /** The requested Docker reference, file name or recipe. */
  sourceRef: Type.String(),
  /** Digest of the source at that time. */
  sourceRefDigest: digest,
  files: Type.Object({ 'rootfs.ext4': fileSchema, kernel: fileSchema, initrd: fileSchema }),
  rootfsPhysicalBytes: bytes,
  kernelVersion: Type.String(),
  /** Digest of all inputs: another conversion with the same key would produce the same image. */
  conversionKey: digest,
  /** RFC 3339. */
  createdAt: Type.String(),
})

/** Size and digest of one file. */
export type FileFacts = Readonly<Static<typeof fileSchema>>

/** The content and origin of an image, stored beside its files. Digests are `sha256:…`, sizes bytes. */
export type Manifest = Readonly<Static<typeof manifestSchema>>

/** Computes an image's digest from the digests of its files. */
export function digestOfParts(arch: string, files: Manifest['files']): string {
  const parts = [arch, ...BOOT_FILES.map((name) => `${name} ${files[name].digest}`)]
  return `sha256:${createHash('sha256').update(parts.join('\n')).digest('hex')}`
}

/** Parses a manifest. @throws Error with a description of what is invalid */
export function parseManifest(text: string): Manifest {
  const manifest: unknown = JSON.parse(text)
  if (!fits(manifestSchema, manifest)) throw new Error(complaint(manifestSchema, manifest))
  if (digestOfParts(manifest.arch, manifest.files) !== manifest.digest)
    throw new Error('its digest does not match its files')
  return manifest
}
