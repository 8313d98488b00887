import { constants, createReadStream, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, readdir, realpath, rmdir } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { messageOf } from '../../lib/errors/message.ts'
import { lockFile } from '../../lib/fs/file-lock.ts'
import { removeFileDurable, writeFileDurable } from '../../lib/fs/write-durable.ts'
import { fault } from '../errors.ts'
import { discard } from './read-object.ts'
import {
  type ByteRange,
  type Content,
  isKey,
  type OpenedObject,
  type OpenOptions,
  type Store,
} from './store.ts'

/** Errors that mean a missing file; all others mean that the store fails. */
const MISSING = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'])
/** Opening a pipe that nobody writes to must not block. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK
/** Temporary files of `writeFileDurable`. */
const UNFINISHED = /\.[0-9a-f]{12}\.tmp$/
/** File that a process locks while it replaces an object. It is not an object. */
const LOCK = '.lock'
const LOCK_TIMEOUT_MS = 30_000

/** Store of objects as files below a folder. Links that point outside the folder count as missing. */
export class FsStore implements Store {
  readonly folder: string
  readonly #root: string

  constructor(root: string) {
    this.folder = resolve(root)
    this.#root = root
  }

  async open(
    key: string,
    { ifNoneMatch, ifMatch, range }: OpenOptions = {},
  ): Promise<OpenedObject | 'missing' | 'unchanged' | 'changed'> {
    if (!isKey(key) || UNFINISHED.test(key) || key === LOCK) return 'missing'
    return orMissing(key, async () => {
      const path = join(this.#root, key)
      if (!(await this.#isInside(path))) return 'missing' as const
      const file = await open(path, READ)
      try {
        const stats = await file.stat()
        if (!stats.isFile()) return (await done(file, 'missing')) as 'missing'
        const etag = etagOf(stats)
        if (etag === ifNoneMatch) return (await done(file, 'unchanged')) as 'unchanged'
        if (ifMatch !== undefined && etag !== ifMatch) return (await done(file, 'changed')) as 'changed'
        return {
          key,
          size: stats.size,
          etag,
          lastModifiedMs: stats.mtimeMs,
          contentType: undefined,
          contentEncoding: undefined,
          body: await bodyOf(file, stats.size, range),
        }
      } catch (error) {
        await file.close()
        throw error
      }
    })
  }

  async listNames(prefix: string): Promise<readonly string[]> {
    const entries = await orMissing(prefix, () => readdir(join(this.#root, prefix), { withFileTypes: true }))
    if (entries === 'missing') return []
    return entries.filter((entry) => entry.isDirectory() && isKey(entry.name)).map(({ name }) => name)
  }

  async *list(prefix: string): AsyncIterable<{ readonly key: string }> {
    for await (const key of this.#walk(prefix))
      if (!UNFINISHED.test(key) && isKey(key) && key !== LOCK) yield { key }
  }

  async write(key: string, content: Content): Promise<void> {
    const path = join(this.#root, checked(key))
    const write = async (): Promise<void> => {
      await mkdir(dirname(path), { recursive: true })
      await writeFileDurable(path, content instanceof Uint8Array ? content : createReadStream(content.file))
    }
    try {
      // The folder may be deleted at that moment, with the last of its files.
      await write().catch((error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? write() : Promise.reject(error),
      )
    } catch (error) {
      throw unavailable(key, error)
    }
  }

  async replace(key: string, bytes: Uint8Array, etag: string | undefined): Promise<'written' | 'changed'> {
    checked(key)
    const unlock = await this.#lock(key)
    try {
      const found = await this.open(key)
      if (typeof found !== 'string') discard(found)
      if ((typeof found === 'string' ? undefined : found.etag) !== etag) return 'changed'
      await this.write(key, bytes)
      return 'written'
    } finally {
      await unlock()
    }
  }

  async remove(key: string): Promise<void> {
    const path = join(this.#root, checked(key))
    await orMissing(key, () => removeFileDurable(path))
    // As in an object store, a folder exists only while it contains something.
    let folder = dirname(path)
    try {
      for (; folder.startsWith(this.#root + sep); folder = dirname(folder)) await rmdir(folder)
    } catch {
      // The folder is not empty.
    }
  }

  async removeUnfinished(prefix: string, isOurs: (key: string) => boolean, beforeMs: number): Promise<void> {
    for await (const key of this.#walk(prefix)) {
      if (!UNFINISHED.test(key) || !isOurs(key.replace(UNFINISHED, ''))) continue
      const path = join(this.#root, key)
      // A running write changes its file all the time, and has renamed it when it is complete.
      const stats = await orMissing(key, () => lstat(path))
      if (stats !== 'missing' && stats.mtimeMs < beforeMs) await orMissing(key, () => removeFileDurable(path))
    }
  }

  close(): void {
    // There is nothing to close.
  }

  /** Yields the keys of all files below a prefix, a few at a time: a large site's do not fit into memory. */
  async *#walk(prefix: string): AsyncGenerator<string> {
    const folder = await orMissing(prefix, () => opendir(join(this.#root, prefix), { bufferSize: 256 }))
    if (folder === 'missing') return
    for await (const entry of folder) {
      const key = prefix + entry.name
      if (entry.isDirectory()) yield* this.#walk(`${key}/`)
      else if (entry.isFile()) yield key
    }
  }

  async #lock(key: string): Promise<() => Promise<void>> {
    const signal = AbortSignal.timeout(LOCK_TIMEOUT_MS)
    try {
      // Other users of the folder lock it too, as far as the umask permits.
      return await lockFile(join(this.#root, LOCK), { signal, mode: 0o666 })
    } catch (error) {
      if (!signal.aborted) throw unavailable(key, error)
      throw fault(
        'STORE_UNAVAILABLE',
        `another process has locked ${join(this.#root, LOCK)} for ${LOCK_TIMEOUT_MS / 1_000} s; stop it and try again`,
        error,
      )
    }
  }

  async #isInside(path: string): Promise<boolean> {
    const [root, real] = await Promise.all([realpath(this.#root), realpath(path)])
    return real.startsWith(root + sep)
  }
}

function etagOf({ mtimeMs, size, ino }: Stats): string {
  return `"${Math.round(mtimeMs * 1000).toString(36)}-${size.toString(36)}-${ino.toString(36)}"`
}

async function bodyOf(file: FileHandle, size: number, range: ByteRange | undefined) {
  // A file that grows while it is read keeps its announced size.
  const [start, end] = range === undefined ? [0, size - 1] : [range.first, range.last]
  if (size === 0) {
    await file.close()
    return Readable.from([])
  }
  return file.createReadStream({ start, end, highWaterMark: 256 * 1024 })
}

async function done<T>(file: FileHandle, answer: T): Promise<T> {
  await file.close()
  return answer
}

function checked(key: string): string {
  if (!isKey(key) || key === LOCK) throw fault('PUBLISH_INVALID', `"${key}" is not a valid object key`)
  return key
}

async function orMissing<T>(key: string, work: () => Promise<T>): Promise<T | 'missing'> {
  try {
    return await work()
  } catch (error) {
    if (MISSING.has((error as NodeJS.ErrnoException).code ?? '')) return 'missing'
    throw unavailable(key, error)
  }
}

function unavailable(key: string, error: unknown): Error {
  return fault('STORE_UNAVAILABLE', `the store could not read "${key}": ${messageOf(error)}`, error)
}
