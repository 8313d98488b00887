import { statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type Database, open, type RootDatabase } from 'lmdb'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { factsLayout, openFacts, type Facts } from '../bytecode/facts.ts'
import { isWhole } from '../bytecode/tables.ts'
import { type Digest, digestLayout, openDigest } from './digest.ts'

/** Changes by itself with the columns. The number is for other changes of what is stored; another version's slices are left alone. */
export const STORE_VERSION = `4-${crc32(`${factsLayout} ${digestLayout}`).toString(36)}`
/** Address space, of which only what is used takes memory or disk. */
const MAP_BYTES = 64 * 2 ** 30

/**
 * The slices of class files that this user's servers have read, by a key that says which bytes they were made of. It is a
 * cache: what is missing or damaged is read from the class files again. Written in a pool's process only (lmdb damages its
 * memory when the disk is full), read anywhere.
 */
export class SliceStore {
  readonly #directory: string
  readonly #mode: 'read' | 'write'
  #opened: Opened | undefined
  /** Of the file when it was last looked at; it never shrinks by itself. */
  #bytes = 0
  #scratch = new ArrayBuffer(0)
  #isDamaged = false

  private constructor(directory: string, mode: 'read' | 'write') {
    this.#directory = directory
    this.#mode = mode
  }

  /** @throws what lmdb throws for a directory that cannot be used */
  static open(directory: string, mode: 'read' | 'write'): SliceStore {
    makeDirs(directory, 0o700)
    const store = new SliceStore(directory, mode)
    store.#open()
    store.isWhole()
    return store
  }

  /** False where something else has cut the file short or taken it away: to read it then would end this process. */
  isWhole(): boolean {
    if (this.#isDamaged) return false
    const bytes = statSync(join(this.#directory, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0
    if (bytes < this.#bytes) return false
    this.#bytes = bytes
    return true
  }

  has(key: string): boolean {
    return this.#open().data.doesExist(`${key} digest`)
  }

  /** Shows the digest to `use`, during whose call alone it is valid. False when it is not there or damaged. */
  digest(key: string, use: (digest: Digest) => void): boolean {
    const content = this.#content(`${key} digest`)
    if (content === undefined) return false
    // At a place where words may be read.
    if (this.#scratch.byteLength < content.length) this.#scratch = new ArrayBuffer(2 * content.length)
    new Uint8Array(this.#scratch).set(content)
    use(openDigest(this.#scratch))
    return true
  }

  /** Undefined when it is not there or damaged. */
  facts(key: string): Facts | undefined {
    const content = this.#content(`${key} facts`)
    return content === undefined ? undefined : openFacts(new Uint8Array(content).buffer)
  }

  /** Resolves once both, packed, are stored; rejects when they cannot be, after which this process should end. */
  async put(key: string, facts: ArrayBuffer, digest: ArrayBuffer): Promise<void> {
    const { root, data } = this.#open()
    await root.transaction(() => {
      void data.put(`${key} facts`, Buffer.from(facts))
      void data.put(`${key} digest`, Buffer.from(digest))
    })
  }

  /** Takes slices out, those of them that are there. The file stays as large, and has room. */
  async drop(keys: readonly string[]): Promise<void> {
    const { root, data } = this.#open()
    await root.transaction(() => {
      for (const key of keys) {
        void data.remove(`${key} facts`)
        void data.remove(`${key} digest`)
      }
    })
  }

  /** Reads something of every entry: where the file is shorter than it says, that ends the process. */
  touchAll(): void {
    const { data } = this.#open()
    for (const key of data.getKeys()) data.getBinaryFast(key)?.at(-1)
  }

  /** Gives back the memory through which the file was read. It is opened again when it is used again. */
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

  /** It is not whole any more: something has shown that its pages are damaged. */
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

  /** In lmdb's own memory, until the next call of it. */
  #content(name: string): Uint8Array | undefined {
    if (!this.isWhole()) return undefined
    const stored = this.#read(name)
    // The memory behind it is larger than the value.
    const content = stored?.subarray(0, stored.length)
    return content !== undefined && isWhole(content) ? content : undefined
  }
}

/** Whether lmdb has found its own pages damaged. */
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
    // A crash of the machine can lose the last slices, or damage pages: the next start checks the store, and reads all again if it has to.
    noSync: true,
  })
  return { root, data: root.openDB<Buffer, string>({ name: `v${STORE_VERSION}`, encoding: 'binary' }) }
}
