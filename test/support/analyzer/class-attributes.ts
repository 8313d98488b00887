import { CONSTANT_BYTES } from '../../oracle/class-reader/structure.ts'

/** An attribute in the bytes of a class file. */
export interface PlacedAttribute {
  readonly name: string
  /** Position and length of its contents, in bytes. */
  readonly at: number
  readonly length: number
}

const UTF8 = 1
const LONG = 5
const DOUBLE = 6

/** Returns the attributes of a valid class file, its members, code and record components. */
export function attributesOf(bytes: Uint8Array): readonly PlacedAttribute[] {
  const file = Buffer.from(bytes)
  const texts = new Map<number, string>()
  const count = file.readUInt16BE(8)
  let at = 10
  for (let index = 1; index < count; index++) {
    const tag = file[at++] ?? 0
    if (tag === UTF8) {
      const length = file.readUInt16BE(at)
      texts.set(index, file.toString('latin1', at + 2, at + 2 + length))
      at += 2 + length
    } else at += CONSTANT_BYTES.get(tag) ?? 0
    if (tag === LONG || tag === DOUBLE) index++
  }
  const found: PlacedAttribute[] = []
  /** Reads a list of attributes; returns its end. */
  const read = (start: number): number => {
    let next = start + 2
    for (let left = file.readUInt16BE(start); left > 0; left--) {
      const name = texts.get(file.readUInt16BE(next)) ?? ''
      const length = file.readUInt32BE(next + 2)
      const body = next + 6
      found.push({ name, at: body, length })
      if (name === 'Code') {
        const handlers = body + 8 + file.readUInt32BE(body + 4)
        read(handlers + 2 + 8 * file.readUInt16BE(handlers))
      }
      if (name === 'Record') {
        let component = body + 2
        for (let more = file.readUInt16BE(body); more > 0; more--) component = read(component + 4)
      }
      next = body + length
    }
    return next
  }
  at += 6
  at += 2 + 2 * file.readUInt16BE(at)
  // Fields, then methods.
  for (let tables = 2; tables > 0; tables--) {
    let left = file.readUInt16BE(at)
    at += 2
    for (; left > 0; left--) at = read(at + 6)
  }
  read(at)
  return found
}
