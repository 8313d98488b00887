import { encodeWtf8, StringTable, textOf } from '../bytecode/string-table.ts'

const NONE = -1
/** 32-bit FNV-1a. */
const BASIS = 0x811c9dc5 | 0
const PRIME = 0x01000193

/**
 * Distinct strings in flat memory, by id from 0: one of a million costs its bytes and 16 more, where a string in a `Map` costs
 * over 100, and one that is there already is found without being decoded.
 */
export class StringPool {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #offsets = new Int32Array(256)
  #hashes = new Int32Array(256)
  #count = 0
  /** Those that have been asked for. */
  #texts: (string | undefined)[] = []
  /** Open addressing by hash; at most three quarters full. */
  #slots = new Int32Array(512).fill(NONE)

  get count(): number {
    return this.#count
  }

  /**
   * The id of the string that takes the bytes (UTF-8, or WTF-8) from `start` to `end`; a new one where it is new.
   *
   * @param hash as `hashOf` has given it for the same bytes
   */
  idOf(bytes: Uint8Array, start: number, end: number, hash = hashOf(bytes, start, end)): number {
    const slot = this.#slotOf(bytes, start, end, hash)
    const known = this.#slots[slot] ?? NONE
    if (known !== NONE) return known
    const id = this.#count++
    this.#slots[slot] = id
    const from = this.#offsets[id] ?? 0
    const to = from + end - start
    this.#makeRoom(to)
    for (let i = start, at = from; i < end; i++, at++) this.#bytes[at] = bytes[i] ?? 0
    this.#offsets[id + 1] = to
    this.#hashes[id] = hash
    if (4 * this.#count > 3 * this.#slots.length) this.#rehash(2 * this.#slots.length)
    return id
  }

  find(text: string): number | undefined {
    const bytes = encodeWtf8(text)
    const id = this.#slots[this.#slotOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length))]
    return id === NONE ? undefined : id
  }

  /** Kept until `forget`. @throws RangeError for an id that is none, -1 among them */
  get(id: number): string {
    return (this.#texts[id] ??= this.decode(id))
  }

  /** As `get`, for one that is not soon asked for again. */
  decode(id: number): string {
    if (!(id >= 0 && id < this.#count)) throw new RangeError(`there is no string ${id}`)
    return textOf(this.#bytes, this.#offsets[id] ?? 0, this.#offsets[id + 1] ?? 0)
  }

  /** Gives back what `get` keeps. */
  forget(): void {
    this.#texts = []
  }

  /** What it holds now, as a view: strings that are added later are not in it. */
  table(): StringTable {
    const end = this.#offsets[this.#count] ?? 0
    return new StringTable(this.#bytes.subarray(0, end), this.#offsets.subarray(0, this.#count + 1))
  }

  /** Gives back the memory that was kept for strings to come. */
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

  #makeRoom(bytes: number): void {
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
  // The low bits choose the slot, and those of FNV hardly know the first bytes.
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
