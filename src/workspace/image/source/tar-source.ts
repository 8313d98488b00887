import { open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import type { Pool } from '../../../lib/pool/pool.ts'
import { workerFile } from '../../../lib/pool/worker-file.ts'
import { fault } from '../../errors.ts'
import type { ImageStore } from '../image-store.ts'
import { systemError } from '../system-error.ts'
import type { FileFacts } from '../manifest.ts'
import { type ImageConfig, NO_CONFIG, type RootfsSource } from './rootfs-source.ts'

/** A source that must be closed. */
export interface TarSource extends RootfsSource {
  readonly close: () => Promise<void>
}

/**
 * Opens a root file system in a tar archive, compressed or not. A stream is first written to disk in the
 * store, because the source is identified by its digest.
 *
 * @throws INVALID_REQUEST when the file cannot be read
 * @throws BACKEND_ERROR when the disk is full
 */
export async function tarSource(
  archive: string | Readable,
  parts: {
    readonly store: ImageStore
    readonly pool: Pool
    /** Name for the manifest; the file's name when absent. */
    readonly name?: string
    /** Settings, which an archive does not contain. */
    readonly config?: ImageConfig
    readonly signal?: AbortSignal
  },
): Promise<TarSource> {
  const { store, pool, signal, config = NO_CONFIG } = parts
  const staging = typeof archive === 'string' ? undefined : await store.stage()
  const close = async (): Promise<void> => {
    if (staging !== undefined) await rm(staging, { recursive: true, force: true })
  }
  try {
    const file = typeof archive === 'string' ? archive : join(staging ?? '', 'archive')
    if (typeof archive !== 'string') await spool(archive, file, signal)
    const { digest } = await facts(pool, file)
    const ref = parts.name ?? basename(file)
    return { ref, digest, arch: process.arch, config, open: () => Promise.resolve(file), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function spool(archive: Readable, file: string, signal: AbortSignal | undefined): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await pipeline(archive, handle.createWriteStream(), { ...(signal && { signal }) })
  } catch (error) {
    signal?.throwIfAborted()
    throw systemError('storing the archive', error)
  }
}

async function facts(pool: Pool, path: string): Promise<FileFacts> {
  try {
    return (await pool.run(workerFile('image-facts'), { path })) as FileFacts
  } catch (error) {
    throw fault('INVALID_REQUEST', `the archive ${path} cannot be read: ${messageOf(error)}`, error)
  }
}
