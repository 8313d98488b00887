import { execFileSync } from 'node:child_process'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { releaseOf, unpackKernel } from '../../../src/workspace/image/convert/kernel-image.ts'

const RELEASE = '6.1.0-56-cloud-amd64'
const ELF = Buffer.concat([Buffer.from('\x7fELF', 'latin1'), Buffer.alloc(100_000, 'kernel ')])
const SETUP_SECTORS = 3
const PAYLOAD_OFFSET = 100

/** An x86 boot image around a packed kernel, as described in the kernel's Documentation/arch/x86/boot.rst. */
function bootImage(payload: Buffer): Buffer {
  const head = Buffer.alloc((SETUP_SECTORS + 1) * 512)
  head[0x1f1] = SETUP_SECTORS
  head.write('HdrS', 0x202, 'latin1')
  head.writeUInt16LE(0x400, 0x20e)
  head.write(`${RELEASE} (debian) #1 SMP\0`, 0x600, 'latin1')
  head.writeUInt32LE(PAYLOAD_OFFSET, 0x248)
  head.writeUInt32LE(payload.length, 0x24c)
  return Buffer.concat([head, Buffer.alloc(PAYLOAD_OFFSET, 0x90), payload, Buffer.alloc(64, 0x90)])
}

/** The kernel's build appends the unpacked size. */
const sized = (packed: Buffer): Buffer => {
  const size = Buffer.alloc(4)
  size.writeUInt32LE(ELF.length)
  return Buffer.concat([packed, size])
}
const packedBy = (program: string, ...options: readonly string[]): Buffer =>
  execFileSync(program, ['-c', ...options], { input: ELF })

test.each([
  ['gzip', () => gzipSync(ELF)],
  ['zstd', () => sized(zstdCompressSync(ELF))],
  ['xz', () => sized(packedBy('xz', '--check=crc32'))],
  ['lzma', () => sized(packedBy('xz', '--format=lzma'))],
  ['lz4', () => sized(packedBy('lz4', '-l'))],
  ['bzip2', () => sized(packedBy('bzip2'))],
  ['nothing', () => ELF],
])('a kernel packed with %s is unpacked exactly', (_format, pack) => {
  const unpacked = unpackKernel(bootImage(pack()), 'vmlinuz')
  expect(unpacked.equals(ELF)).toBe(true)
})

test('an unpacked kernel stays as it is, and a packed arm64 image is unpacked', () => {
  expect(unpackKernel(ELF, 'vmlinux')).toBe(ELF)
  const image = Buffer.alloc(4_096)
  image.write('ARM\x64', 56, 'latin1')
  expect(unpackKernel(gzipSync(image), 'Image.gz').equals(image)).toBe(true)
})

test('a boot image contains its release, and nothing else does', () => {
  expect(releaseOf(bootImage(ELF))).toBe(RELEASE)
  for (const other of [ELF, Buffer.alloc(0), Buffer.alloc(4_096)]) expect(releaseOf(other)).toBeUndefined()
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['zeros', Buffer.alloc(4_096)],
  ['a script', Buffer.from('#!/bin/sh\n')],
  ['a packed text', gzipSync(Buffer.from('no kernel'))],
  ['a damaged gzip file', gzipSync(ELF).subarray(0, 50)],
  ['a boot image that is cut short', bootImage(gzipSync(ELF)).subarray(0, 2_200)],
  ['a boot image around a text', bootImage(gzipSync(Buffer.from('no kernel')))],
  ['a boot image around damaged xz', bootImage(Buffer.from('fd377a585a00ffff', 'hex'))],
])('an invalid kernel is refused: %s', (_what, bytes) => {
  expect(() => unpackKernel(bytes, 'vmlinuz-x')).toThrow(expect.objectContaining({ code: 'BACKEND_ERROR' }))
})
