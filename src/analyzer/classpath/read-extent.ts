import { crc32, inflateRawSync } from 'node:zlib'
import type { Extent } from '../../native/classfile.ts'
import type { ByteSource } from './byte-source.ts'

const LOCAL_HEADER_BYTES = 30
const LOCAL_SIGNATURE = 0x04034b50

/**
 * Returns the inflated bytes of an extent.
 *
 * @throws RangeError or Error when they do not match the extent or exceed `maxBytes`
 */
export function readExtent(source: ByteSource, extent: Extent, maxBytes: number): Buffer {
  if (extent.bytes > maxBytes) throw new Error('it exceeds the size limit')
  if (extent.method !== 0 && extent.method !== 8)
    throw new Error('its compression method is neither stored nor deflated')
  const stored = source.read(dataOffset(source, extent), extent.storedBytes)
  // One byte more, to detect data that is longer.
  const bytes = extent.method === 8 ? inflateRawSync(stored, { maxOutputLength: extent.bytes + 1 }) : stored
  if (bytes.length !== extent.bytes) throw new Error('it does not inflate to its declared size')
  if (extent.crc !== undefined && crc32(bytes) !== extent.crc) throw new Error('its checksum does not match')
  return bytes
}

/** Returns the offset of an extent's data, after its local header. */
export function dataOffset(source: ByteSource, { offset, hasHeader }: Extent): number {
  if (!hasHeader) return offset
  const header = source.read(offset, LOCAL_HEADER_BYTES)
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE) throw new Error('it has no local header')
  return offset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28)
}
