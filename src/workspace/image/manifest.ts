import { createHash } from 'node:crypto'
import type { Static } from 'typebox'
import { complaint, fits } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { IMAGE_BACKENDS } from './image-backend.ts'

const MANIFEST_VERSION = 1

/** The files of an image that a VM boots from, by name. */
export const BOOT_FILES = ['rootfs.ext4', 'kernel', 'initrd'] as const
export type BootFile = (typeof BOOT_FILES)[number]

const digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })
const bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const fileSchema = Type.Object({ digest, bytes })

const manifestSchema = Type.Object({
  schemaVersion: Type.Literal(MANIFEST_VERSION),
  /** Of the image: the digest over its architecture and its files' digests. */
  digest,
  backend: Type.Enum(IMAGE_BACKENDS),
  /** As Node names it: x64, arm64. */
  arch: Type.String(),
  /** The Docker reference, file name or recipe that was asked for. */
  sourceRef: Type.String(),
  /** Of what that stood for then. */
  sourceRefDigest: digest,
  files: Type.Object({ 'rootfs.ext4': fileSchema, kernel: fileSchema, initrd: fileSchema }),
  rootfsPhysicalBytes: bytes,
  kernelVersion: Type.String(),
  /** Of everything that the conversion depends on: a second one of the same key would make the same image. */
  conversionKey: digest,
  /** RFC 3339. */
  createdAt: Type.String(),
})

/** What is known of one file. */
export type FileFacts = Readonly<Static<typeof fileSchema>>

/** What an image is made of and came from; lies beside its files. Digests are `sha256:…`, sizes bytes. */
export type Manifest = Readonly<Static<typeof manifestSchema>>

/** The digest of an image, from its files' digests. */
export function digestOfParts(arch: string, files: Manifest['files']): string {
  const parts = [arch, ...BOOT_FILES.map((name) => `${name} ${files[name].digest}`)]
  return `sha256:${createHash('sha256').update(parts.join('\n')).digest('hex')}`
}

/** Reads a manifest's text. @throws a plain Error that says what is wrong with it */
export function parseManifest(text: string): Manifest {
  const manifest: unknown = JSON.parse(text)
  if (!fits(manifestSchema, manifest)) throw new Error(complaint(manifestSchema, manifest))
  if (digestOfParts(manifest.arch, manifest.files) !== manifest.digest)
    throw new Error('its digest is not that of its files')
  return manifest
}
