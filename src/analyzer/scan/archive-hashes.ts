import { readFileSync, statSync } from 'node:fs'
import { ignore } from '../../lib/errors/ignore.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import type { Pool } from '../../lib/pool/pool.ts'
import { workerFile } from '../../lib/pool/worker-file.ts'
import type { StampedHash } from './list-entry.ts'
import { stampIfThere } from '../index/slices.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** Minimum size of archives that are hashed in a separate task. */
const LARGE_BYTES = 2 ** 23

/** Hashes of archives by stamp, saved between starts. */
export class ArchiveHashes {
  readonly #file: string
  readonly #hashes: Record<string, string>
  #isChanged = false

  constructor(file: string) {
    this.#file = file
    this.#hashes = readHashes(file)
  }

  /** Returns the hash for a stamp. */
  find(stamp: string | undefined): StampedHash | undefined {
    const hash = stamp === undefined ? undefined : this.#hashes[stamp]
    return stamp === undefined || hash === undefined ? undefined : { stamp, hash }
  }

  /** Adds a hash. */
  add({ stamp, hash }: StampedHash): void {
    this.#hashes[stamp] = hash
    this.#isChanged = true
  }

  /**
   * Hashes large archives without known hash in parallel. An archive that fails here is tried again when it
   * is listed.
   */
  async addLarge(archives: readonly { readonly path: string }[], pool: Pick<Pool, 'run'>): Promise<void> {
    const unknown = archives.filter(({ path }) => isLarge(path) && !this.find(stampIfThere(path)))
    await Promise.all(
      unknown.map(async ({ path }) => {
        const hashing = pool.run(workerFile('analyzer-hash'), { path })
        const hash = (await hashing.catch(ignore('it is hashed again when it is listed'))) as
          StampedHash | undefined
        if (hash !== undefined) this.add(hash)
      }),
    )
  }

  /** Saves new hashes. */
  async save(): Promise<void> {
    if (!this.#isChanged) return
    this.#isChanged = false
    await writeFileDurable(this.#file, JSON.stringify(this.#hashes), { mode: 0o600 }).catch(
      ignore('it only saves time: on a full disk the file is left unchanged'),
    )
  }
}

function isLarge(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.size >= LARGE_BYTES
}

const hashesSchema = Type.Record(Type.String(), Type.String())

function readHashes(file: string): Record<string, string> {
  const none = Object.create(null) as Record<string, string>
  try {
    return Object.assign(none, parseJson(hashesSchema, readFileSync(file, 'utf8')))
  } catch {
    return none
  }
}
