import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'

const TITLE = 'content-server hashes 1'
const LINE = /^(\S+) ([0-9a-f]{64}) (.+)$/
/** A file that changed later can change again without a new time. */
const SETTLED_MS = 2_000

/** A file with its hash. */
export interface HashedFile {
  /** Path relative to the folder, with slashes. */
  readonly path: string
  readonly sha256: string
  /** Changes whenever the file changes: its size, times and inode. */
  readonly stamp: string
  /** Time of the last change, in milliseconds since the epoch. */
  readonly changedMs: number
}

/**
 * Hashes of a folder's files from earlier runs, in a file in the cache folder. A file with the same size, times and
 * inode is not read again. The file is only a cache: errors on it are ignored.
 */
export class HashMemory {
  readonly #file: string
  /** Stamps with hashes, by path. */
  readonly #known: Map<string, string>

  private constructor(file: string, known: Map<string, string>) {
    this.#file = file
    this.#known = known
  }

  /** Opens the memory of a folder. */
  static async open(dir: string, folder: string): Promise<HashMemory> {
    const file = join(dir, createHash('sha256').update(folder).digest('hex'))
    const known = new Map<string, string>()
    try {
      let isFirst = true
      for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
        if (isFirst && line !== TITLE) break
        isFirst = false
        const [, stamp, sha256, path] = LINE.exec(line) ?? []
        if (path !== undefined) known.set(path, `${stamp} ${sha256}`)
      }
    } catch {
      known.clear()
    }
    return new HashMemory(file, known)
  }

  /** Returns the hash of a file that is unchanged since it was remembered, once. */
  take(path: string, stamp: string): string | undefined {
    const known = this.#known.get(path)
    this.#known.delete(path)
    return known?.startsWith(`${stamp} `) === true ? known.slice(stamp.length + 1) : undefined
  }

  /** Replaces all hashes. @param startedMs wall-clock time before the files were read */
  async remember(files: readonly HashedFile[], startedMs: number): Promise<void> {
    function* lines(): Generator<string> {
      yield `${TITLE}\n`
      for (const { stamp, changedMs, sha256, path } of files)
        if (changedMs < startedMs - SETTLED_MS) yield `${stamp} ${sha256} ${path}\n`
    }
    try {
      mkdirSync(join(this.#file, '..'), { recursive: true, mode: 0o700 })
      await writeFileDurable(this.#file, Readable.from(lines()), { mode: 0o600 })
    } catch {
      // The next run reads the files again.
    }
  }
}
