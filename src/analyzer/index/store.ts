import { statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type Database, open, type RootDatabase } from 'lmdb'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { factsLayout, openFacts, type Facts } from '../bytecode/facts.ts'
import { isWhole } from '../bytecode/tables.ts'
import { type Digest, digestLayout, openDigest } from './digest.ts'

/**
 * Changes with the columns. Increment the number for any other change of the stored format; slices of other
 * versions are left alone.
 */
export const STORE_VERSION = `5-${crc32(`${factsLayout} ${digestLayout}`).toString(36)}`
/** Address space; only the used part takes memory or disk. */
const MAP_BYTES = 64 * 2 ** 30

/**
 * Store of the slices that this user's servers have read, by a key that identifies their content. It is a
 * cache: missing or damaged slices are read from the class files again. Only a pool process writes it (lmdb
 * corrupts its memory when the disk is full); any process may read it.
 */
export class SliceStore {
  readonly #directory: string
  readonly #mode: 'read' | 'write'
  #opened: Opened | undefined
  /** Size of the file at the last check; it never shrinks normally. */
  #bytes = 0
  #scratch = new ArrayBuffer(0)
  #isDamaged = false

  private constructor(directory: string, mode: 'read' | 'write') {
    this.#directory = directory
    this.#mode = mode
  }

  /** Opens a store. @throws errors of lmdb when the directory is unusable */
  static open(directory: string, mode: 'read' | 'write'): SliceStore {
    makeDirs(directory, 0o700)
    const store = new SliceStore(directory, mode)
    store.#open()
    store.isWhole()
    return store
  }

  /** Whether the file still exists and was not truncated; reading it otherwise would kill this process. */
  isWhole(): boolean {
    if (this.#isDamaged) return false
    const bytes = statSync(join(this.#directory, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0
    if (bytes < this.#bytes) return false
    this.#bytes = bytes
    return true
  }

  /** Whether a slice is stored. */
  has(key: string): boolean {
    return this.#open().data.doesExist(`${key} digest`)
  }

  /**
   * Calls `use` with a digest, which is valid only during the call. Returns false if it is missing or
   * damaged.
   */
  digest(key: string, use: (digest: Digest) => void): boolean {
    const content = this.#content(`${key} digest`)
    if (content === undefined) return false
    // Copied to aligned memory.
    if (this.#scratch.byteLength < content.length) this.#scratch = new ArrayBuffer(2 * content.length)
    new Uint8Array(this.#scratch).set(content)
    use(openDigest(this.#scratch))
    return true
  }

  /** Returns a slice's facts, or undefined if they are missing or damaged. */
  facts(key: string): Facts | undefined {
    const content = this.#content(`${key} facts`)
    return content === undefined ? undefined : openFacts(new Uint8Array(content).buffer)
  }

  /** Stores packed facts and digest. If it rejects, the process should exit. */
  async put(key: string, facts: ArrayBuffer, digest: ArrayBuffer): Promise<void> {
    const { root, data } = this.#open()
    await root.transaction(() => {
      void data.put(`${key} facts`, Buffer.from(facts))
      void data.put(`${key} digest`, Buffer.from(digest))
    })
  }

  /** Deletes existing slices. The file does not shrink, but reuses the space. */
  async drop(keys: readonly string[]): Promise<void> {
    const { root, data } = this.#open()
    await root.transaction(() => {
      for (const key of keys) {
        void data.remove(`${key} facts`)
        void data.remove(`${key} digest`)
      }
    })
  }

  /** Reads a byte of every entry, which kills the process if the file is truncated. */
  touchAll(): void {
    const { data } = this.#open()
    for (const key of data.getKeys()) data.getBinaryFast(key)?.at(-1)
  }

  /** Unmaps the file. The next use opens it again. */
  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    this.#scratch = new ArrayBuffer(0)
    await opened?.root.close()
  }

  #open(): Opened {
    this.#opened ??= openDatabase(this.#directory, this.#mode)
    return this.#opened
  }

  /** Marks the store as damaged. */
  distrust(): void {
    this.#isDamaged = true
  }

  #read(name: string): Buffer | undefined {
    try {
      return this.#open().data.getBinaryFast(name)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.distrust()
      return undefined
    }
  }

  /** Returns an entry in lmdb's own memory, valid until its next call. */
  #content(name: string): Uint8Array | undefined {
    if (!this.isWhole()) return undefined
    const stored = this.#read(name)
    // The underlying memory is larger than the value.
    const content = stored?.subarray(0, stored.length)
    return content !== undefined && isWhole(content) ? content : undefined
  }
}

/** Whether an error reports damaged pages of lmdb. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && error.message.includes('MDB_')
}

interface Opened {
  readonly root: RootDatabase<Buffer, string>
  readonly data: Database<Buffer, string>
}

function openDatabase(path: string, mode: 'read' | 'write'): Opened {
  const root = open<Buffer, string>({
    path,
    encoding: 'binary',
    maxDbs: 4,
    mapSize: MAP_BYTES,
    readOnly: mode === 'read',
    // A crash of the machine can lose the last slices or damage pages: the next start checks the store, and
    // scans everything again if necessary.
    noSync: true,
  })
  return { root, data: root.openDB<Buffer, string>({ name: `v${STORE_VERSION}`, encoding: 'binary' }) }
}
