import { createHash } from 'node:crypto'
import { isDigest } from './tag.ts'
import type { ImageBackend } from './image-backend.ts'

const MANIFEST_VERSION = 1

/** The files of an image that a VM boots from, by name. */
export const BOOT_FILES = ['rootfs.ext4', 'kernel', 'initrd'] as const
export type BootFile = (typeof BOOT_FILES)[number]

/** What is known of one file. */
export interface FileFacts {
  readonly digest: string
  readonly bytes: number
}

/** What an image is made of and came from; lies beside its files. Digests are `sha256:…`, sizes bytes. */
export interface Manifest {
  readonly schemaVersion: typeof MANIFEST_VERSION
  /** Of the image: the digest over its architecture and its files' digests. */
  readonly digest: string
  readonly backend: ImageBackend
  /** As Node names it: x64, arm64. */
  readonly arch: string
  /** The Docker reference, file name or recipe that was asked for. */
  readonly sourceRef: string
  /** Of what that stood for then. */
  readonly sourceRefDigest: string
  readonly files: Readonly<Record<BootFile, FileFacts>>
  readonly rootfsPhysicalBytes: number
  readonly kernelVersion: string
  /** Of everything that the conversion depends on: a second one of the same key would make the same image. */
  readonly conversionKey: string
  /** RFC 3339. */
  readonly createdAt: string
}

/** The digest of an image, from its files' digests. */
export function digestOfParts(arch: string, files: Manifest['files']): string {
  const parts = [arch, ...BOOT_FILES.map((name) => `${name} ${files[name].digest}`)]
  return `sha256:${createHash('sha256').update(parts.join('\n')).digest('hex')}`
}

/** Reads a manifest's text. @throws a plain Error that says what is wrong with it */
export function parseManifest(text: string): Manifest {
  const value = JSON.parse(text) as Partial<Manifest> | null
  if (typeof value !== 'object' || value === null) throw new Error('it is no object')
  if (value.schemaVersion !== MANIFEST_VERSION)
    throw new Error(`its schema version is ${String(value.schemaVersion)}, and ${MANIFEST_VERSION} is known`)
  for (const name of ['backend', 'arch', 'sourceRef', 'kernelVersion', 'createdAt'] as const)
    if (typeof value[name] !== 'string') throw new Error(`its ${name} is no text`)
  for (const name of ['digest', 'sourceRefDigest', 'conversionKey'] as const)
    if (!isDigest(value[name] ?? '')) throw new Error(`its ${name} is no digest`)
  if (!isSize(value.rootfsPhysicalBytes)) throw new Error('its rootfsPhysicalBytes is no size')
  for (const name of BOOT_FILES) {
    const facts: Partial<FileFacts> | undefined = value.files?.[name]
    if (!isDigest(facts?.digest ?? '') || !isSize(facts?.bytes)) throw new Error(`it does not tell ${name}`)
  }
  const manifest = value as Manifest
  if (digestOfParts(manifest.arch, manifest.files) !== manifest.digest)
    throw new Error('its digest is not that of its files')
  return manifest
}

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
