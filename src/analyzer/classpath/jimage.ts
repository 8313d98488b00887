import type { Extent } from '../../native/classfile.ts'
import type { ByteSource } from './byte-source.ts'

/** A resource of a JDK's `lib/modules`. */
export interface ImageEntry {
  readonly module: string
  /** "java/lang/String.class", without the module. */
  readonly name: string
  /** Undefined if it is compressed in a way that is not supported. */
  readonly extent: Extent | undefined
}

// The only specification of the file format is its source, jdk.internal.jimage.ImageHeader and ImageLocation, and
// jdk.internal.jimage.decompressor for compressed resources.
const MAGIC = 0xcafedada
const HEADER_BYTES = 28
const attribute = { end: 0, module: 1, parent: 2, base: 3, extension: 4, offset: 5, compressed: 6, bytes: 7 }
const MAX_INDEX_BYTES = 2 ** 28

const COMPRESSED_MAGIC = 0xcafefafa
const COMPRESSED_HEADER_BYTES = 29
/** Header and checksum of a zlib stream (RFC 1950), around deflated data. */
const ZLIB_HEADER_BYTES = 2
const ZLIB_CHECKSUM_BYTES = 4

/**
 * Lists the resources of a jimage of this machine's byte order, little-endian. Of compressed resources, those of
 * `jlink --compress=2` (zip-6) have an extent; those of `--compress=1` (strings shared between classes) have none.
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
    const offset = indexBytes + (values[attribute.offset] ?? 0)
    const compressedBytes = values[attribute.compressed] ?? 0
    const isStored = compressedBytes === 0
    const parent = texts.at(values[attribute.parent] ?? 0)
    const extension = texts.at(values[attribute.extension] ?? 0)
    const base = texts.at(values[attribute.base] ?? 0)
    entries.push({
      module: texts.at(values[attribute.module] ?? 0),
      name: `${parent === '' ? '' : `${parent}/`}${base}${extension === '' ? '' : `.${extension}`}`,
      extent: isStored
        ? { offset, storedBytes: bytes, bytes, method: 0, ...PLAIN }
        : zippedExtent(source, texts, { offset, compressedBytes, bytes }),
    })
  }
  return entries
}

const PLAIN = { hasHeader: false, crc: undefined } as const

/** Returns the deflated data of a compressed resource; undefined if it is compressed otherwise, or invalid. */
function zippedExtent(
  source: ByteSource,
  texts: Texts,
  { offset, compressedBytes, bytes }: { offset: number; compressedBytes: number; bytes: number },
): Extent | undefined {
  const headerBytes = COMPRESSED_HEADER_BYTES + ZLIB_HEADER_BYTES
  const storedBytes = compressedBytes - headerBytes - ZLIB_CHECKSUM_BYTES
  if (storedBytes < 0 || offset + compressedBytes > source.bytes) return undefined
  const header = source.read(offset, headerBytes)
  const isZipped =
    header.readUInt32LE(0) === COMPRESSED_MAGIC &&
    header.readBigUInt64LE(4) === BigInt(compressedBytes - COMPRESSED_HEADER_BYTES) &&
    header.readBigUInt64LE(12) === BigInt(bytes) &&
    // The data is not compressed again by another method.
    header.readUInt8(28) === 1 &&
    texts.find(header.readUInt32LE(20)) === 'zip' &&
    isZlib(header.readUInt16BE(COMPRESSED_HEADER_BYTES))
  return isZipped ? { offset: offset + headerBytes, storedBytes, bytes, method: 8, ...PLAIN } : undefined
}

/** Whether a header is of deflated data without a dictionary (RFC 1950). */
const isZlib = (header: number): boolean =>
  ((header >> 8) & 0xf) === 8 && (header & 0x20) === 0 && header % 31 === 0

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

  /** @throws RangeError when there is no string at the offset */
  at(offset: number): string {
    const text = this.find(offset)
    if (text === undefined) throw new RangeError(`string at offset ${offset} does not exist`)
    return text
  }

  find(offset: number): string | undefined {
    const known = this.#cache.get(offset)
    if (known !== undefined) return known
    const end = this.#bytes.indexOf(0, offset)
    if (offset >= this.#bytes.length || end < 0) return undefined
    const text = this.#bytes.toString('utf8', offset, end)
    this.#cache.set(offset, text)
    return text
  }
}
