import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { packageRoot } from '../../lib/process/package.ts'
import type { WorkspaceConfig } from '../config.ts'
import { fault } from '../errors.ts'
import { convert } from '../image/convert/convert.ts'
import { runTool } from '../image/convert/tool.ts'
import { type ImageBackend, isImageBackend } from '../image/image-backend.ts'
import type { ImageStore } from '../image/image-store.ts'
import { converterOf, createImagePool, imageBackendsOf, openImageStore } from './open-images.ts'
import { readBaseConfig } from '../image/source/base-config.ts'
import { tarSource } from '../image/source/tar-source.ts'
import { parseTag, tagOfReference } from '../image/tag.ts'

/** An image build as requested on the command line. */
export interface BuildRequest {
  /** Path or stream of a root file system archive; the base image is built when absent. */
  readonly archive: string | Readable | undefined
  readonly tag: string | undefined
  readonly backend: string | undefined
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
  /** Directory of the guest programs, overriding the built ones. */
  readonly guestDir?: string | undefined
}

/**
 * Builds an image on this machine; a server may be running.
 *
 * @throws INVALID_REQUEST when the tag or the backend is invalid
 * @throws BACKEND_ERROR when the conversion fails
 */
export async function buildImage(
  config: WorkspaceConfig,
  request: BuildRequest,
): Promise<{ readonly tag: string; readonly digest: string; readonly backend: ImageBackend }> {
  const { archive, signal } = request
  const backend = backendOf(config, request.backend)
  const tag = parseTag(request.tag ?? defaultTag(archive))
  const store = await openImageStore(config, backend)
  return store.preparation.during(() => prepare(config, { ...request, store, backend, tag }), signal)
}

async function prepare(
  config: WorkspaceConfig,
  request: BuildRequest & {
    readonly store: ImageStore
    readonly backend: ImageBackend
    readonly tag: string
  },
): Promise<{ readonly tag: string; readonly digest: string; readonly backend: ImageBackend }> {
  const { archive, progress, signal, store, backend, tag } = request
  const pool = createImagePool()
  const staging = archive === undefined ? await store.stage() : undefined
  try {
    const built = staging === undefined ? archive : await buildBase(staging, progress, signal)
    const name =
      archive === undefined ? 'base' : typeof archive === 'string' ? basename(archive) : 'standard input'
    const about = archive === undefined ? { config: await readBaseConfig() } : {}
    const source = await tarSource(built ?? '', { store, pool, name, signal, ...about })
    try {
      const { digest } = await convert(converterOf(config, store, backend, pool, request.guestDir), source, {
        progress,
        signal,
      })
      await store.setTag(tag, digest, '')
      return { tag, digest, backend }
    } finally {
      await source.close()
    }
  } finally {
    if (staging !== undefined) await rm(staging, { recursive: true, force: true })
    await pool.close()
  }
}

async function buildBase(
  directory: string,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const file = join(directory, 'base.tar')
  const onLine = (line: string): void => {
    if (line.startsWith('setup: ')) progress(line.slice('setup: '.length))
  }
  await runTool([join(packageRoot, 'scripts', 'vm-base'), file], {
    what: 'building the base image',
    package: 'bash',
    signal,
    onLine,
    // On SIGTERM it unmounts what it has mounted before it exits.
    stopSignal: 'SIGTERM',
  })
  return file
}

function backendOf(config: WorkspaceConfig, named: string | undefined): ImageBackend {
  const names = ['firecracker', 'vz', 'qemu'] as const
  const found =
    names.find((backend) => backend === named) ??
    (named === undefined ? imageBackendsOf(config)[0] : undefined)
  if (found !== undefined && isImageBackend(found)) return found
  throw fault(
    'INVALID_REQUEST',
    named === undefined
      ? 'enabled_backends contains no VM backend; select one with --backend'
      : `backend ${JSON.stringify(named.slice(0, 80))} must be one of ${names.join(', ')}`,
  )
}

function defaultTag(archive: string | Readable | undefined): string {
  if (archive === undefined) return 'base'
  if (typeof archive !== 'string')
    throw fault('INVALID_REQUEST', 'an archive from standard input requires --tag')
  return tagOfReference(basename(archive).replace(/(?:\.tar)?(?:\.\w+)?$/, ''))
}
