import { crc32 } from 'node:zlib'

// APPNOTE.TXT 4.3; all numbers are little-endian.
const LOCAL_BYTES = 30
const ENTRY_BYTES = 46
const END_BYTES = 22
const UTF8_NAMES = 0x0800

/** Creates a zip file with uncompressed entries, for exchange with other programs. At most 65,535 entries. */
export function storedArchive(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Uint8Array[] = []
  const directory: Uint8Array[] = []
  let at = 0
  for (const [file, bytes] of files) {
    const name = Buffer.from(file)
    const local = Buffer.alloc(LOCAL_BYTES)
    local.writeUInt32LE(0x04034b50)
    const entry = Buffer.alloc(ENTRY_BYTES)
    entry.writeUInt32LE(0x02014b50)
    for (const [header, start] of [
      [local, 4],
      [entry, 6],
    ] as const) {
      header.writeUInt16LE(10, start)
      header.writeUInt16LE(UTF8_NAMES, start + 2)
      header.writeUInt32LE(crc32(bytes), start + 10)
      header.writeUInt32LE(bytes.length, start + 14)
      header.writeUInt32LE(bytes.length, start + 18)
      header.writeUInt16LE(name.length, start + 22)
    }
    entry.writeUInt32LE(at, 42)
    parts.push(local, name, bytes)
    directory.push(entry, name)
    at += LOCAL_BYTES + name.length + bytes.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(files.size, 8)
  end.writeUInt16LE(files.size, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, central, end])
}
