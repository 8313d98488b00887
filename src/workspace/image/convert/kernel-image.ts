import { fault } from '../../errors.ts'
import { compressionOf, decompress } from './decompress.ts'

/** The largest kernel that is unpacked, and what it may unpack to. */
const MAX_PACKED_BYTES = 2 ** 26
const MAX_UNPACKED_BYTES = 160 * 2 ** 20

const ELF_MAGIC = '7f454c46'
/** x86: "HdrS" in the boot header, and where the fields are that say where the kernel itself is (boot protocol 2.08). */
const X86 = { magicAt: 0x202, sectorsAt: 0x1f1, versionAt: 0x20e, payloadAt: 0x248, lengthAt: 0x24c } as const
/** arm64: "ARM\x64" in the header of an uncompressed image. */
const ARM64_MAGIC_AT = 56

/** Whether these are the bytes of an x86 kernel that boots by the Linux boot protocol. */
function isBootImage(kernel: Buffer): boolean {
  return (
    kernel.length > X86.lengthAt + 4 && kernel.toString('latin1', X86.magicAt, X86.magicAt + 4) === 'HdrS'
  )
}

/** The release that an x86 kernel says it is; undefined for others. */
export function releaseOf(kernel: Buffer): string | undefined {
  if (!isBootImage(kernel)) return undefined
  const at = kernel.readUInt16LE(X86.versionAt) + 0x200
  const end = kernel.indexOf(0, at)
  return kernel.toString('latin1', at, end).split(' ')[0]
}

/**
 * The kernel without what unpacks it: for x86 the ELF file (vmlinux) inside the bzImage, for arm64 the image that a
 * gzip file holds. A kernel that is not packed is returned as it is.
 *
 * @throws BACKEND_ERROR for what is no kernel
 */
export function unpackKernel(kernel: Buffer, name: string): Buffer {
  if (isElf(kernel) || isArmImage(kernel)) return kernel
  const packed = isBootImage(kernel) ? payloadOf(kernel, name) : kernel
  const format = compressionOf(packed)
  if (format === undefined && isElf(packed)) return packed
  if (format === undefined) throw fault('BACKEND_ERROR', `${name} is no kernel image that is known`)
  if (packed.length > MAX_PACKED_BYTES)
    throw fault('BACKEND_ERROR', `${name} has ${packed.length} packed bytes, more than ${MAX_PACKED_BYTES}`)
  const unpacked = decompress(packed, format, name, MAX_UNPACKED_BYTES)
  if (isElf(unpacked) || isArmImage(unpacked)) return unpacked
  throw fault(
    'BACKEND_ERROR',
    `${name} holds no kernel: what it unpacks to is neither ELF nor an arm64 image`,
  )
}

/** Documentation/arch/x86/boot.rst of the kernel: payload_offset counts from the end of the setup sectors. */
function payloadOf(kernel: Buffer, name: string): Buffer {
  const setupSectors = kernel[X86.sectorsAt] || 4
  const begin = (setupSectors + 1) * 512 + kernel.readUInt32LE(X86.payloadAt)
  const end = begin + kernel.readUInt32LE(X86.lengthAt)
  if (begin >= end || end > kernel.length)
    throw fault('BACKEND_ERROR', `${name} is cut short: it should hold a kernel up to byte ${end}`)
  return kernel.subarray(begin, end)
}

function isElf(bytes: Buffer): boolean {
  return bytes.toString('hex', 0, 4) === ELF_MAGIC
}

function isArmImage(bytes: Buffer): boolean {
  return bytes.toString('latin1', ARM64_MAGIC_AT, ARM64_MAGIC_AT + 4) === 'ARM\x64'
}
