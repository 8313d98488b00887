import { encodeWtf8, StringTable, textOf } from '../bytecode/string-table.ts'

const NONE = -1
/** 32-bit FNV-1a. */
const BASIS = 0x811c9dc5 | 0
const PRIME = 0x01000193

/**
 * Distinct strings in flat memory, by id from 0. A string in a pool of a million costs its bytes and 16 more,
 * while a string in a `Map` costs over 100, and existing strings are found without decoding.
 */
export class StringPool {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #offsets = new Int32Array(256)
  #hashes = new Int32Array(256)
  #count = 0
  /** Decoded strings. */
  #texts: (string | undefined)[] = []
  /** Hash table with open addressing, at most three quarters full. */
  #slots = new Int32Array(512).fill(NONE)

  get count(): number {
    return this.#count
  }

  /**
   * Returns the id of a string, which is added if it is new. Its bytes (UTF-8 or WTF-8) are those from
   * `start` to `end`.
   *
   * @param hash result of `hashOf` for the same bytes
   */
  idOf(bytes: Uint8Array, start: number, end: number, hash = hashOf(bytes, start, end)): number {
    const slot = this.#slotOf(bytes, start, end, hash)
    const existing = this.#slots[slot] ?? NONE
    if (existing !== NONE) return existing
    const id = this.#count++
    this.#slots[slot] = id
    const from = this.#offsets[id] ?? 0
    const to = from + end - start
    this.#reserve(to)
    for (let i = start, at = from; i < end; i++, at++) this.#bytes[at] = bytes[i] ?? 0
    this.#offsets[id + 1] = to
    this.#hashes[id] = hash
    if (4 * this.#count > 3 * this.#slots.length) this.#rehash(2 * this.#slots.length)
    return id
  }

  /** Finds the id of a string. */
  find(text: string): number | undefined {
    const bytes = encodeWtf8(text)
    const id = this.#slots[this.#slotOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length))]
    return id === NONE ? undefined : id
  }

  /** Returns a string, cached until `forget`. @throws RangeError when the id is invalid, including -1 */
  get(id: number): string {
    return (this.#texts[id] ??= this.decode(id))
  }

  /** Returns a string without caching it. @throws as `get` */
  decode(id: number): string {
    if (!(id >= 0 && id < this.#count)) throw new RangeError(`string ${id} does not exist`)
    return textOf(this.#bytes, this.#offsets[id] ?? 0, this.#offsets[id + 1] ?? 0)
  }

  /** Drops the strings cached by `get`. */
  forget(): void {
    this.#texts = []
  }

  /** Returns the current strings as a view; strings added later are not in it. */
  table(): StringTable {
    const end = this.#offsets[this.#count] ?? 0
    return new StringTable(this.#bytes.subarray(0, end), this.#offsets.subarray(0, this.#count + 1))
  }

  /** Frees the memory reserved for more strings. */
  trim(): void {
    this.#bytes = copyOf(this.#bytes, this.#offsets[this.#count] ?? 0)
    this.#offsets = this.#offsets.slice(0, this.#count + 1)
    this.#hashes = this.#hashes.slice(0, this.#count)
  }

  #slotOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = this.#slots[slot] ?? NONE
      if (id === NONE || (this.#hashes[id] === hash && this.#equals(id, bytes, start, end))) return slot
    }
  }

  #equals(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#offsets[id] ?? 0
    if ((this.#offsets[id + 1] ?? 0) - from !== end - start) return false
    for (let i = start, at = from; i < end; i++, at++) if (this.#bytes[at] !== bytes[i]) return false
    return true
  }

  #reserve(bytes: number): void {
    if (bytes > this.#bytes.length) this.#bytes = copyOf(this.#bytes, bytes + (bytes >> 1))
    if (this.#count >= this.#hashes.length) {
      const length = this.#count + (this.#count >> 1) + 256
      this.#offsets = grown(this.#offsets, length + 1)
      this.#hashes = grown(this.#hashes, length)
    }
  }

  #rehash(length: number): void {
    this.#slots = new Int32Array(length).fill(NONE)
    const mask = length - 1
    for (let id = 0; id < this.#count; id++) {
      let slot = (this.#hashes[id] ?? 0) & mask
      while (this.#slots[slot] !== NONE) slot = (slot + 1) & mask
      this.#slots[slot] = id
    }
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = BASIS
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), PRIME)
  // The low bits select the slot, and in FNV they depend little on the first bytes.
  return hash ^ (hash >>> 15)
}

function copyOf(bytes: Uint8Array, length: number): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(length)
  copy.set(length < bytes.length ? bytes.subarray(0, length) : bytes)
  return copy
}

function grown(values: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length)
  larger.set(values)
  return larger
}
