import { createHash } from 'node:crypto'
import { mkdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { discard } from '../../../lib/fs/trash.ts'
import { syncFile } from '../../../lib/fs/write-durable.ts'
import { Pool } from '../../../lib/pool/pool.ts'
import { workerFile } from '../../../lib/pool/worker-file.ts'
import { run } from '../../../lib/process/run.ts'
import { fault } from '../../errors.ts'
import type { ImageBackend } from '../image-backend.ts'
import type { ImageStore } from '../image-store.ts'
import { type BootFile, BOOT_FILES, type FileFacts, type Manifest } from '../manifest.ts'
import { systemError } from '../system-error.ts'
import { conversionSandbox, requireSandbox } from './conversion-sandbox.ts'
import type { ConversionParts } from './conversion-parts.ts'
import { pathInTree } from './in-tree.ts'
import { findMke2fs } from './formatter-files.ts'
import type { ConfiguredKernel } from './kernel-source.ts'
import { checkRootfs, makeRootfs } from './make-rootfs.ts'
import { Owners } from './owners.ts'
import type { PreparedTree, PrepareTask } from './prepare-tree.ts'
import type { RootfsSource } from '../source/rootfs-source.ts'
import { unpack } from './unpack.ts'
import type { Clock } from '../../../lib/clock/clock.ts'
import { ignore } from '../../../lib/errors/ignore.ts'

/** Changes whenever the same source would be converted to a different image. */
const RECIPE = 1

/** Timeout of a step that makes no progress. */
const MOST_MS = 60 * 60_000

/** Dependencies shared by all conversions of a backend. */
export interface Converter {
  readonly store: ImageStore
  readonly backend: ImageBackend
  /** Runs heavy work on trusted bytes. */
  readonly pool: Pool
  readonly kernel: ConfiguredKernel
  /** Directory of the guest programs, as `npm run build` creates it. */
  readonly guestDir: string
  readonly clock: Clock
}

/** Options of one conversion. */
export interface ConversionOptions {
  readonly progress: (message: string) => void
  readonly signal?: AbortSignal | undefined
}

/**
 * Converts a root file system to an image in the store, or finds an existing image with the same inputs.
 * Remains of a failure are removed; those of a crash are named `*.tmp`.
 *
 * @throws INVALID_REQUEST when the image is for another architecture
 * @throws BACKEND_ERROR when the conversion fails
 */
export async function convert(
  converter: Converter,
  source: RootfsSource,
  options: ConversionOptions,
): Promise<Manifest> {
  const { store } = converter
  const { progress, signal } = options
  if (source.arch !== process.arch)
    throw fault(
      'INVALID_REQUEST',
      `image ${source.ref} is for ${source.arch}, but this machine is ${process.arch}`,
    )
  await requireSandbox()
  const key = await conversionKey(converter, source)
  const onWait = (): void => progress(`waiting for another conversion of ${source.ref}`)
  return store.singleflight(
    key,
    async () => {
      const staging = await store.stage()
      try {
        return await fill(converter, { source, key, staging, progress, signal })
      } catch (error) {
        throw systemError(`converting ${source.ref}`, error)
      } finally {
        // Deletes through descriptors: an image's directories may be deeper than the limit on paths.
        await discard(store.blobDirectory, basename(staging))
      }
    },
    { signal, onWait },
  )
}

async function fill(
  { store, backend, pool, kernel, guestDir, clock }: Converter,
  {
    source,
    key,
    staging,
    progress,
    signal,
  }: ConversionOptions & { readonly source: RootfsSource; readonly key: string; readonly staging: string },
): Promise<Manifest> {
  const tree = join(staging, 'tree')
  const target = join(staging, 'image')
  for (const directory of [tree, target]) await mkdir(directory, { mode: 0o755 })
  // Taken from the file system's clock, which may differ from this process's.
  const startMs = (await stat(tree)).mtimeMs
  const owners = new Owners(staging)
  const stop = signal ?? new AbortController().signal

  progress(`unpacking ${source.ref}`)
  const { nodes } = await unpack(await source.open(stop), { staging, tree, owners, progress, signal })
  progress('installing guest programs, kernel and initrd')
  const task: PrepareTask = { tree, target, backend, kernel, guestDir, config: source.config, startMs, nodes }
  const inPool = { timeoutMs: MOST_MS, ...(signal && { signal }) }
  const prepared = (await inSandbox({ staging, kernel, guestDir }, (sandboxed) =>
    sandboxed.run(workerFile('image-prepare'), task, inPool),
  )) as PreparedTree
  await owners.giveToRoot(
    // The last part may be a link that we created.
    prepared.ownPaths.map((path) => join(pathInTree(tree, dirname(path)), basename(path))),
    signal,
  )
  progress(`creating a file system of ${Math.ceil(prepared.bytes / 2 ** 20)} MiB`)
  const rootfs = join(target, 'rootfs.ext4')
  await makeRootfs({ tree, file: rootfs, measure: prepared }, owners, signal)
  await inSandbox({ staging, kernel, guestDir }, (sandboxed) =>
    sandboxed.run(workerFile('image-normalize'), { path: rootfs }, inPool),
  )
  progress('checking the file system')
  const readFacts = async (name: BootFile): Promise<FileFacts> =>
    (await pool.run(workerFile('image-facts'), { path: join(target, name) }, inPool)) as FileFacts
  // Concurrently, because all of them only read.
  const [parts] = await allDone([
    Promise.all(BOOT_FILES.map(readFacts)),
    checkRootfs(rootfs, signal),
    syncFile(rootfs),
  ])
  signal?.throwIfAborted()
  return store.publish(target, {
    schemaVersion: 1,
    backend,
    arch: source.arch,
    sourceRef: source.ref,
    sourceRefDigest: source.digest,
    files: Object.fromEntries(BOOT_FILES.map((name, i) => [name, parts[i]])) as Manifest['files'],
    rootfsPhysicalBytes: (await stat(rootfs)).blocks * 512,
    kernelVersion: prepared.kernelVersion,
    conversionKey: key,
    createdAt: new Date(clock.wallMs()).toISOString(),
  })
}

/** Runs a worker that reads an unpacked image in a sandboxed process. */
async function inSandbox<T>(
  {
    staging,
    kernel: { file, modules },
    guestDir,
  }: Pick<Converter, 'kernel' | 'guestDir'> & { readonly staging: string },
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const kernels = ['/boot', file, modules].filter((path) => path !== undefined)
  const pool = new Pool({
    name: 'image in a sandbox',
    maxThreads: 1,
    sandbox: conversionSandbox({
      writable: [staging],
      readable: [guestDir, ...(await withTargets(kernels))],
    }),
  })
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

/** Returns paths together with their link targets. */
async function withTargets(paths: readonly string[]): Promise<readonly string[]> {
  const targets = await Promise.all(
    paths.map((path) => realpath(path).catch(ignore('a path that cannot be resolved counts as it is', path))),
  )
  return [...new Set([...paths, ...targets])]
}

/** Like Promise.all, but waits until every promise is done, because their inputs are deleted afterwards. */
async function allDone<T extends readonly Promise<unknown>[]>(
  work: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

/** Returns a digest of everything that an image's bytes depend on. */
async function conversionKey(
  { backend, pool, kernel, guestDir }: Converter,
  { digest, arch, config }: RootfsSource,
): Promise<string> {
  const task = { guestDir, kernel }
  const parts = (await pool.run(workerFile('image-parts'), task)) as ConversionParts
  const mke2fs = findMke2fs()
  if (mke2fs === undefined) throw fault('BACKEND_ERROR', 'mke2fs is not installed; install e2fsprogs')
  const { stderr } = await run(mke2fs, ['-V'])
  const all = JSON.stringify([RECIPE, backend, digest, arch, config, parts, stderr])
  return `sha256:${createHash('sha256').update(all).digest('hex')}`
}
