import { CONTENT_KEY, contentKey, FORMS } from './content-key.ts'

const HASH_BYTES = 32
/** A hash, and a bit for each form that is in the set; 0 marks an empty slot. */
const SLOT_BYTES = HASH_BYTES + 1
const MIN_SLOTS = 1_024
const MAX_LOAD = 0.8
const PLAIN = 1
const ALL_FORMS = 2 ** FORMS.length - 1

/**
 * A set of keys relative to a manifest's folder. Those of a large site's contents are three for each file: here, all three take
 * less memory than one of them in a `Set`.
 */
export class KeySet implements Iterable<string> {
  readonly #others = new Set<string>()
  readonly #hash = Buffer.alloc(HASH_BYTES)
  #slots = Buffer.alloc(MIN_SLOTS * SLOT_BYTES)
  #used = 0

  constructor(keys: Iterable<string> = []) {
    for (const key of keys) this.add(key)
  }

  add(key: string): void {
    const form = this.#parse(key)
    if (form === -1) {
      this.#others.add(key)
      return
    }
    const at = this.#find(this.#hash)
    const forms = at + HASH_BYTES
    if (this.#slots[forms] === 0) {
      this.#hash.copy(this.#slots, at)
      this.#used++
    }
    this.#slots[forms] = (this.#slots[forms] ?? 0) | (1 << form)
    if (this.#used * SLOT_BYTES > MAX_LOAD * this.#slots.length) this.#grow()
  }

  has(key: string): boolean {
    const form = this.#parse(key)
    if (form === -1) return this.#others.has(key)
    return (this.#formsOfHash() & (1 << form)) !== 0
  }

  /** Whether it has the key of a content and, with `isCompressed`, those of its compressed forms. @param hash in hexadecimal */
  hasContent(hash: string, isCompressed: boolean): boolean {
    this.#hash.write(hash, 'hex')
    const wanted = isCompressed ? ALL_FORMS : PLAIN
    return (this.#formsOfHash() & wanted) === wanted
  }

  *[Symbol.iterator](): Generator<string> {
    yield* this.#others
    for (let at = 0; at < this.#slots.length; at += SLOT_BYTES) {
      const forms = this.#slots[at + HASH_BYTES] ?? 0
      if (forms === 0) continue
      const key = contentKey(this.#slots.toString('hex', at, at + HASH_BYTES))
      for (const [bit, suffix] of FORMS.entries()) if ((forms & (1 << bit)) !== 0) yield key + suffix
    }
  }

  /** Reads the hash of a content's key; returns the number of its form, or -1 for other keys. */
  #parse(key: string): number {
    const [, hash, suffix = ''] = CONTENT_KEY.exec(key) ?? []
    if (hash === undefined) return -1
    this.#hash.write(hash, 'hex')
    return FORMS.indexOf(suffix as (typeof FORMS)[number])
  }

  /** Returns the bits of the forms that it has of the hash that was read. */
  #formsOfHash(): number {
    return this.#slots[this.#find(this.#hash) + HASH_BYTES] ?? 0
  }

  /** Returns the offset of the slot of a hash, or of the one for it. */
  #find(hash: Buffer): number {
    const count = this.#slots.length / SLOT_BYTES
    for (let slot = hash.readUInt32LE() % count; ; slot = (slot + 1) % count) {
      const at = slot * SLOT_BYTES
      const isFree = this.#slots[at + HASH_BYTES] === 0
      if (isFree || hash.compare(this.#slots, at, at + HASH_BYTES) === 0) return at
    }
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = Buffer.alloc(2 * old.length)
    for (let from = 0; from < old.length; from += SLOT_BYTES) {
      if (old[from + HASH_BYTES] === 0) continue
      const to = this.#find(old.subarray(from, from + HASH_BYTES))
      old.copy(this.#slots, to, from, from + SLOT_BYTES)
    }
  }
}
