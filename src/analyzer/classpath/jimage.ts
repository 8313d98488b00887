import type { Extent } from '../../native/classfile.ts'
import type { ByteSource } from './byte-source.ts'

/** A resource of a JDK's `lib/modules`. */
export interface ImageEntry {
  readonly module: string
  /** "java/lang/String.class", without the module. */
  readonly name: string
  readonly extent: Extent
}

// The only specification of the file format is its source, jdk.internal.jimage.ImageHeader and ImageLocation.
const MAGIC = 0xcafedada
const HEADER_BYTES = 28
const attribute = { end: 0, module: 1, parent: 2, base: 3, extension: 4, offset: 5, compressed: 6, bytes: 7 }
const MAX_INDEX_BYTES = 2 ** 28

/**
 * Lists the resources of a jimage of this machine's byte order, little-endian. Omits compressed resources
 * (`jlink --compress`).
 *
 * @throws RangeError or Error when the file is not a valid jimage
 */
export function readImage(source: ByteSource): readonly ImageEntry[] {
  const header = source.read(0, HEADER_BYTES)
  if (header.readUInt32LE(0) !== MAGIC) throw new Error('it is not a jimage: its magic number is wrong')
  const tableLength = header.readUInt32LE(16)
  const locationsBytes = header.readUInt32LE(20)
  const stringsBytes = header.readUInt32LE(24)
  const offsetsAt = HEADER_BYTES + tableLength * 4
  const locationsAt = offsetsAt + tableLength * 4
  const indexBytes = locationsAt + locationsBytes + stringsBytes
  if (indexBytes > MAX_INDEX_BYTES) throw new Error(`its index has ${indexBytes} bytes`)
  const index = source.read(0, indexBytes)
  const locations = index.subarray(locationsAt, locationsAt + locationsBytes)
  const texts = new Texts(index.subarray(locationsAt + locationsBytes))
  const entries: ImageEntry[] = []
  for (let i = 0; i < tableLength; i++) {
    const values = attributesAt(locations, index.readUInt32LE(offsetsAt + i * 4))
    const bytes = values[attribute.bytes] ?? 0
    if ((values[attribute.compressed] ?? 0) !== 0) continue
    const parent = texts.at(values[attribute.parent] ?? 0)
    const extension = texts.at(values[attribute.extension] ?? 0)
    const base = texts.at(values[attribute.base] ?? 0)
    entries.push({
      module: texts.at(values[attribute.module] ?? 0),
      name: `${parent === '' ? '' : `${parent}/`}${base}${extension === '' ? '' : `.${extension}`}`,
      extent: {
        offset: indexBytes + (values[attribute.offset] ?? 0),
        storedBytes: bytes,
        bytes,
        method: 0,
        hasHeader: false,
        crc: undefined,
      },
    })
  }
  return entries
}

/**
 * Reads attributes: the upper 5 bits of a byte are the attribute, the lower 3 the length of its value minus
 * one; values are big-endian, and attribute 0 ends the list.
 */
function attributesAt(locations: Buffer, start: number): readonly number[] {
  const values: number[] = []
  for (let at = start; ;) {
    const head = locations.readUInt8(at)
    const kind = head >> 3
    if (kind === attribute.end) return values
    const length = (head & 7) + 1
    let value = 0
    for (let i = 1; i <= length; i++) value = value * 256 + locations.readUInt8(at + i)
    values[kind] = value
    at += 1 + length
  }
}

class Texts {
  readonly #bytes: Buffer
  readonly #cache = new Map<number, string>()

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  at(offset: number): string {
    let text = this.#cache.get(offset)
    if (text === undefined) {
      const end = this.#bytes.indexOf(0, offset)
      if (offset >= this.#bytes.length || end < 0)
        throw new RangeError(`string at offset ${offset} does not exist`)
      text = this.#bytes.toString('utf8', offset, end)
      this.#cache.set(offset, text)
    }
    return text
  }
}
