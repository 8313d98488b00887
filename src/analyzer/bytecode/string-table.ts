/** Distinct strings of a slice of class files, by id from 0. */
export class StringTable {
  readonly bytes: Buffer
  /** One element more than there are strings: string i is the bytes from offsets[i] to offsets[i + 1]. */
  readonly offsets: Int32Array

  constructor(bytes: Uint8Array, offsets: Int32Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.offsets = offsets
  }

  get count(): number {
    return this.offsets.length - 1
  }

  /** Decodes a string; not cached. @throws RangeError when the id is invalid, including -1 */
  get(id: number): string {
    return textOf(this.bytes, ...this.#range(id))
  }

  /**
   * Returns a string's bytes as a view that is valid as long as the facts are. UTF-8, except that unpaired
   * surrogates keep their three bytes (WTF-8).
   */
  bytesOf(id: number): Uint8Array {
    return this.bytes.subarray(...this.#range(id))
  }

  #range(id: number): [number, number] {
    const start = this.offsets[id]
    const end = this.offsets[id + 1]
    if (start === undefined || end === undefined) throw new RangeError(`string ${id} does not exist`)
    return [start, end]
  }
}

/** Decodes WTF-8: UTF-8, except that unpaired surrogates keep their three bytes. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  const buffer =
    bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8', start, end)
  // UTF-8 has no unpaired surrogates.
  return text.includes('\uFFFD') ? decodeWtf8(bytes.subarray(start, end)) : text
}

/** Decodes WTF-8, https://wtf-8.codeberg.page/. The bytes are well-formed because the readers wrote them. */
function decodeWtf8(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    let character = length === 1 ? first : first & (0xff >> (length + 1))
    for (let i = 1; i < length; i++) character = (character << 6) | ((bytes[at + i] ?? 0) & 0x3f)
    text += String.fromCodePoint(character)
    at += length
  }
  return text
}

/** Encodes text as UTF-8 in which unpaired surrogates keep their three bytes (WTF-8). */
export function encodeWtf8(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0
    const isUnpaired = code >= 0xd800 && code < 0xe000
    return isUnpaired
      ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)])
      : Buffer.from(character)
  })
  return Buffer.concat(parts)
}
