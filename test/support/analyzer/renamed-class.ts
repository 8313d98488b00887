import { CONSTANT_BYTES } from '../../oracle/class-reader/structure.ts'

const UTF8 = 1
const SYNTHETIC = 0x1000

/**
 * Returns a class file with other texts in its constant pool, and with further access flags of the class: as
 * another compiler names and marks the same code.
 */
export function renamedClass(bytes: Buffer, rename: (text: string) => string, addedFlags = 0): Buffer {
  const parts = [bytes.subarray(0, 10)]
  const count = bytes.readUInt16BE(8)
  let at = 10
  for (let entry = 1; entry < count; entry++) {
    const tag = bytes[at] ?? 0
    if (tag === UTF8) {
      const length = bytes.readUInt16BE(at + 1)
      const text = Buffer.from(rename(bytes.subarray(at + 3, at + 3 + length).toString('latin1')), 'latin1')
      parts.push(Buffer.from([UTF8, text.length >> 8, text.length & 0xff]), text)
      at += 3 + length
      continue
    }
    const size = 1 + (CONSTANT_BYTES.get(tag) ?? 0)
    parts.push(bytes.subarray(at, at + size))
    at += size
    if (tag === 5 || tag === 6) entry++
  }
  const flags = bytes.readUInt16BE(at) | addedFlags
  parts.push(Buffer.from([flags >> 8, flags & 0xff]), bytes.subarray(at + 2))
  return Buffer.concat(parts)
}

/** Returns a class file in which some methods have ACC_SYNTHETIC. */
export function markedClass(bytes: Buffer, isMade: (name: string) => boolean): Buffer {
  const marked = Buffer.from(bytes)
  const texts = new Map<number, string>()
  const count = marked.readUInt16BE(8)
  let at = 10
  for (let entry = 1; entry < count; entry++) {
    const tag = marked[at++] ?? 0
    const length = tag === UTF8 ? 2 + marked.readUInt16BE(at) : (CONSTANT_BYTES.get(tag) ?? 0)
    if (tag === UTF8) texts.set(entry, marked.toString('latin1', at + 2, at + length))
    at += length
    if (tag === 5 || tag === 6) entry++
  }
  at += 8 + 2 * marked.readUInt16BE(at + 6)
  for (const isMethod of [false, true]) {
    let left = marked.readUInt16BE(at)
    for (at += 2; left > 0; left--) {
      const isMarked = isMethod && isMade(texts.get(marked.readUInt16BE(at + 2)) ?? '')
      if (isMarked) marked.writeUInt16BE(marked.readUInt16BE(at) | SYNTHETIC, at)
      let attributes = marked.readUInt16BE(at + 6)
      for (at += 8; attributes > 0; attributes--) at += 6 + marked.readUInt32BE(at + 2)
    }
  }
  return marked
}
