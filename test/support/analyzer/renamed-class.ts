const UTF8 = 1
/** Bytes of the other constants by their tag (JVMS table 4.4-A); long and double take two entries. */
const SIZES: Readonly<Record<number, number>> = {
  3: 4,
  4: 4,
  5: 8,
  6: 8,
  7: 2,
  8: 2,
  9: 4,
  10: 4,
  11: 4,
  12: 4,
  15: 3,
  16: 2,
  17: 4,
  18: 4,
  19: 2,
  20: 2,
}

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
    const size = 1 + (SIZES[tag] ?? 0)
    parts.push(bytes.subarray(at, at + size))
    at += size
    if (tag === 5 || tag === 6) entry++
  }
  const flags = bytes.readUInt16BE(at) | addedFlags
  parts.push(Buffer.from([flags >> 8, flags & 0xff]), bytes.subarray(at + 2))
  return Buffer.concat(parts)
}
