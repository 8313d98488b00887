import { fault } from '../../errors.ts'
import { compressionOf, decompress } from './decompress.ts'

/** Maximum sizes of a packed and of an unpacked kernel. */
const MAX_PACKED_BYTES = 2 ** 26
const MAX_UNPACKED_BYTES = 160 * 2 ** 20

const ELF_MAGIC = '7f454c46'
/**
 * x86: "HdrS" in the boot header, and the offsets of the fields that locate the kernel (boot protocol 2.08).
 */
const X86 = { magicAt: 0x202, sectorsAt: 0x1f1, versionAt: 0x20e, payloadAt: 0x248, lengthAt: 0x24c } as const
/** arm64: "ARM\x64" in the header of an uncompressed image. */
const ARM64_MAGIC_AT = 56

/** Returns whether the bytes are an x86 kernel that supports the Linux boot protocol. */
function isBootImage(kernel: Buffer): boolean {
  return (
    kernel.length > X86.lengthAt + 4 && kernel.toString('latin1', X86.magicAt, X86.magicAt + 4) === 'HdrS'
  )
}

/** Returns the release named in an x86 kernel; undefined for other kernels. */
export function releaseOf(kernel: Buffer): string | undefined {
  if (!isBootImage(kernel)) return undefined
  const at = kernel.readUInt16LE(X86.versionAt) + 0x200
  const end = kernel.indexOf(0, at)
  return kernel.toString('latin1', at, end).split(' ')[0]
}

/**
 * Strips a kernel's decompressor: returns the ELF file (vmlinux) inside an x86 bzImage, or the image inside
 * an arm64 gzip file. An unpacked kernel is returned as it is.
 *
 * @throws BACKEND_ERROR when it is not a kernel
 */
export function unpackKernel(kernel: Buffer, name: string): Buffer {
  if (isElf(kernel) || isArmImage(kernel)) return kernel
  const packed = isBootImage(kernel) ? payloadOf(kernel, name) : kernel
  const format = compressionOf(packed)
  if (format === undefined && isElf(packed)) return packed
  if (format === undefined) throw fault('BACKEND_ERROR', `${name} is not a supported kernel image`)
  if (packed.length > MAX_PACKED_BYTES)
    throw fault('BACKEND_ERROR', `${name} has ${packed.length} packed bytes, more than ${MAX_PACKED_BYTES}`)
  const unpacked = decompress(packed, format, name, MAX_UNPACKED_BYTES)
  if (isElf(unpacked) || isArmImage(unpacked)) return unpacked
  throw fault(
    'BACKEND_ERROR',
    `${name} does not contain a kernel: it unpacks to neither an ELF nor an arm64 image`,
  )
}

/**
 * Returns the packed kernel. Source: the kernel's Documentation/arch/x86/boot.rst; payload_offset counts from
 * the end of the setup sectors.
 */
function payloadOf(kernel: Buffer, name: string): Buffer {
  const setupSectors = kernel[X86.sectorsAt] || 4
  const begin = (setupSectors + 1) * 512 + kernel.readUInt32LE(X86.payloadAt)
  const end = begin + kernel.readUInt32LE(X86.lengthAt)
  if (begin >= end || end > kernel.length)
    throw fault('BACKEND_ERROR', `${name} is truncated: its kernel should extend to byte ${end}`)
  return kernel.subarray(begin, end)
}

function isElf(bytes: Buffer): boolean {
  return bytes.toString('hex', 0, 4) === ELF_MAGIC
}

function isArmImage(bytes: Buffer): boolean {
  return bytes.toString('latin1', ARM64_MAGIC_AT, ARM64_MAGIC_AT + 4) === 'ARM\x64'
}
