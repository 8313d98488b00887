import { mkdirSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { type Database, open, type RootDatabase } from 'lmdb'
import { openFacts, type Facts } from '../bytecode/facts.ts'
import { type Digest, openDigest } from './digest.ts'

/** Changes with every change of what is stored; another version's files are left alone. */
export const STORE_VERSION = 2
const CHECKSUM_BYTES = 4
/** Address space, of which only what is used takes memory or disk. */
const MAP_BYTES = 64 * 2 ** 30

/**
 * The slices of class files that this user's servers have read, by a key that says which bytes they were made of. It is a
 * cache: what is missing or damaged is read from the class files again. Written in a pool's process only (lmdb damages its
 * memory when the disk is full), read anywhere.
 */
export class SliceStore {
  readonly #root: RootDatabase<Buffer, string>
  readonly #data: Database<Buffer, string>
  #scratch = new ArrayBuffer(0)

  private constructor(root: RootDatabase<Buffer, string>) {
    this.#root = root
    this.#data = root.openDB<Buffer, string>({ name: `v${STORE_VERSION}`, encoding: 'binary' })
  }

  /** @throws what lmdb throws for a directory that cannot be used */
  static open(directory: string, mode: 'read' | 'write'): SliceStore {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return new SliceStore(
      open<Buffer, string>({
        path: directory,
        encoding: 'binary',
        maxDbs: 4,
        mapSize: MAP_BYTES,
        readOnly: mode === 'read',
        // A crash of the machine can lose the last slices, which are then read again.
        noSync: true,
      }),
    )
  }

  has(key: string): boolean {
    return this.#data.doesExist(`${key} digest`) && this.#data.doesExist(`${key} facts`)
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

  /** Resolves once both are stored; rejects when they cannot be, after which this process should end. */
  async put(key: string, facts: ArrayBuffer, digest: ArrayBuffer): Promise<void> {
    await this.#root.transaction(() => {
      void this.#data.put(`${key} facts`, sealed(facts))
      void this.#data.put(`${key} digest`, sealed(digest))
    })
  }

  /** Reads something of every entry: where the file is shorter than it says, that ends the process. */
  touchAll(): void {
    for (const key of this.#data.getKeys()) this.#data.getBinaryFast(key)?.at(-1)
  }

  async close(): Promise<void> {
    await this.#root.close()
  }

  /** In lmdb's own memory, until the next call of it. */
  #content(name: string): Uint8Array | undefined {
    const stored = this.#data.getBinaryFast(name)
    if (stored === undefined || stored.length < CHECKSUM_BYTES) return undefined
    // The memory behind it is larger than the value.
    const content = stored.subarray(CHECKSUM_BYTES, stored.length)
    return crc32(content) === stored.readUInt32LE() ? content : undefined
  }
}

function sealed(content: ArrayBuffer): Buffer {
  const stored = Buffer.allocUnsafe(CHECKSUM_BYTES + content.byteLength)
  const bytes = new Uint8Array(content)
  stored.writeUInt32LE(crc32(bytes))
  stored.set(bytes, CHECKSUM_BYTES)
  return stored
}
