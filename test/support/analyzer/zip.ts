import { crc32, deflateRawSync } from 'node:zlib'

/** Entry of an archive, with everything that may be wrong about it. */
export interface ZipFile {
  readonly name: string
  readonly bytes: Uint8Array
  readonly stored?: boolean
  /** General purpose flags. */
  readonly flags?: number
  /** Sizes in the central directory instead of the actual ones. */
  readonly claims?: {
    readonly bytes?: number
    readonly crc?: number
    readonly offset?: number
    readonly method?: number
  }
  /** Sizes in a data descriptor after the bytes, and zeros in the local header, as streams write. */
  readonly descriptor?: boolean
  /** Sizes and offset in a zip64 extra field. */
  readonly zip64?: boolean
}

/** Creates a zip file by hand, as irregular as necessary. */
export function zipOf(
  files: readonly ZipFile[],
  options: { readonly zip64?: boolean; readonly before?: Uint8Array } = {},
): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const file of files) {
    const name = Buffer.from(file.name)
    const body = file.stored ? Buffer.from(file.bytes) : deflateRawSync(file.bytes)
    const crc = crc32(file.bytes)
    const flags = (file.flags ?? 0) | (file.descriptor ? 8 : 0)
    const method = file.claims?.method ?? (file.stored ? 0 : 8)
    const sizes = file.descriptor ? [0, 0, 0] : [crc, body.length, file.bytes.length]
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50)
    local.writeUInt16LE(flags, 6)
    local.writeUInt16LE(method, 8)
    for (const [i, value] of sizes.entries()) local.writeUInt32LE(value, 14 + 4 * i)
    local.writeUInt16LE(name.length, 26)
    // An extra field that the central directory lacks.
    local.writeUInt16LE(4, 28)
    const descriptor = Buffer.alloc(file.descriptor ? 16 : 0)
    if (file.descriptor) {
      descriptor.writeUInt32LE(0x08074b50)
      for (const [i, value] of [crc, body.length, file.bytes.length].entries())
        descriptor.writeUInt32LE(value, 4 + 4 * i)
    }
    const offset = file.claims?.offset ?? at
    const bytes = file.claims?.bytes ?? file.bytes.length
    const extra = Buffer.alloc(file.zip64 ? 28 : 0)
    if (file.zip64) {
      extra.writeUInt16LE(1)
      extra.writeUInt16LE(24, 2)
      for (const [i, value] of [bytes, body.length, offset].entries())
        extra.writeBigUInt64LE(BigInt(value), 4 + 8 * i)
    }
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50)
    entry.writeUInt16LE(flags, 8)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(file.claims?.crc ?? crc, 16)
    entry.writeUInt32LE(file.zip64 ? 0xffffffff : body.length, 20)
    entry.writeUInt32LE(file.zip64 ? 0xffffffff : bytes, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt16LE(extra.length, 30)
    entry.writeUInt32LE(file.zip64 ? 0xffffffff : offset, 42)
    directory.push(entry, name, extra)
    const whole = Buffer.concat([local, name, Buffer.from([0xfe, 0xca, 0, 0]), body, descriptor])
    parts.push(whole)
    at += whole.length
  }
  const central = Buffer.concat(directory)
  return Buffer.concat([
    options.before ?? Buffer.alloc(0),
    ...parts,
    central,
    ends(files.length, central.length, at, options.zip64),
  ])
}

function ends(count: number, bytes: number, at: number, zip64 = false): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(zip64 ? 0xffff : count, 8)
  end.writeUInt16LE(zip64 ? 0xffff : count, 10)
  end.writeUInt32LE(zip64 ? 0xffffffff : bytes, 12)
  end.writeUInt32LE(zip64 ? 0xffffffff : at, 16)
  if (!zip64) return end
  const wide = Buffer.alloc(56 + 20)
  wide.writeUInt32LE(0x06064b50)
  wide.writeBigUInt64LE(44n, 4)
  wide.writeBigUInt64LE(BigInt(count), 24)
  wide.writeBigUInt64LE(BigInt(count), 32)
  wide.writeBigUInt64LE(BigInt(bytes), 40)
  wide.writeBigUInt64LE(BigInt(at), 48)
  wide.writeUInt32LE(0x07064b50, 56)
  wide.writeBigUInt64LE(BigInt(at + bytes), 64)
  wide.writeUInt32LE(1, 72)
  return Buffer.concat([wide, end])
}
