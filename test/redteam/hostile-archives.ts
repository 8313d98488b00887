import { crc32, deflateRawSync } from 'node:zlib'
import { zipOf } from '../support/analyzer/zip.ts'

const MIB = 2 ** 20
const small = (): Buffer => zipOf([{ name: 'a/A.class', bytes: Buffer.from('cafebabe', 'hex') }])

/** A zip file after a number of other bytes, as in nested archives. */
const padded = (bytes: number, fill: 'zeros' | 'compressible' = 'zeros'): Buffer => {
  const before = Buffer.alloc(bytes)
  // Compresses about fiftyfold, below every ratio limit.
  if (fill === 'compressible')
    for (let at = 0; at < bytes; at += 200) before.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at)
  return zipOf([{ name: 'a/A.class', bytes: Buffer.from('cafebabe', 'hex') }], { before })
}

const nested = (count: number, inner: Buffer, stored = false): Buffer =>
  zipOf(Array.from({ length: count }, (_, i) => ({ name: `WEB-INF/lib/big${i}.jar`, bytes: inner, stored })))

/** A class without members, or only its first 24 bytes. */
function tinyClass(name: string, kind: 'valid' | 'empty'): Buffer {
  if (kind === 'empty') return Buffer.from('cafebabe0000003d0001'.padEnd(48, '0'), 'hex')
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(`\x01\0\0${value}`, 'latin1')
    bytes.writeUInt16BE(value.length, 1)
    return bytes
  }
  return Buffer.concat([
    Buffer.from('cafebabe0000003d0005070002', 'hex'),
    text(name),
    Buffer.from('070004', 'hex'),
    text('java/lang/Object'),
    Buffer.from('0021000100030000000000000000', 'hex'),
  ])
}

function tinyClasses(count: number, kind: 'valid' | 'empty', prefix = 'A'): Buffer {
  const files = Array.from({ length: count }, (_, i) => {
    const name = `a/${prefix}${i}`
    return { name: `${name}.class`, bytes: tinyClass(name, kind), stored: true }
  })
  return zipOf(files, { zip64: true })
}

/** Files in a project's folder that a scan reads, by attack. */
export const HOSTILE_ARCHIVES: readonly {
  readonly id: string
  readonly tries: string
  readonly files: () => Readonly<Record<string, Buffer>>
}[] = [
  {
    id: 'nested-deflated',
    tries: 'two jars with four deflated archives of 480 MiB zeros each',
    files: () => {
      const jar = nested(4, padded(480 * MIB))
      return { 'lib/evil.jar': jar, 'target/dependency/evil2.jar': jar }
    },
  },
  {
    id: 'nested-below-ratio',
    tries: 'four jars, each with two archives of 200 MiB that deflate to a fiftieth',
    files: () => {
      const jar = nested(2, padded(200 * MIB, 'compressible'))
      return { 'lib/a.jar': jar, 'lib/b.jar': jar, 'lib/c.jar': jar, 'lib/d.jar': jar }
    },
  },
  {
    id: 'many-nested',
    tries: '100 archives of 15 MiB zeros, each below the bound on ratios',
    files: () => ({ 'lib/evil.jar': nested(100, padded(15 * MIB)) }),
  },
  {
    id: 'nested-in-nested',
    tries: 'a deflated archive of 200 MiB in a deflated archive in a jar',
    files: () => ({ 'lib/evil.jar': nested(2, nested(2, padded(200 * MIB))) }),
  },
  {
    id: 'stored-in-deflated',
    tries: 'stored archives of 60 MiB in a deflated one',
    files: () => ({ 'lib/evil.jar': nested(2, nested(2, padded(60 * MIB, 'compressible'), true)) }),
  },
  {
    id: 'stored-nested',
    tries: '20 stored archives of 15 MiB',
    files: () => ({ 'lib/evil.jar': nested(20, padded(15 * MIB), true) }),
  },
  {
    id: 'class-bomb',
    tries: '200 classes of 16 MiB zeros',
    files: () => {
      const bytes = Buffer.alloc(16 * MIB)
      return {
        'lib/evil.jar': zipOf(
          Array.from({ length: 200 }, (_, i) => ({
            name: `a/A${i}.class`,
            bytes: i < 4 ? bytes : bytes.subarray(0, MIB),
          })),
        ),
      }
    },
  },
  {
    id: 'overlapping',
    tries: '1,000 entries that share one body',
    files: () => {
      const body = Buffer.alloc(4 * MIB)
      const files = Array.from({ length: 1_000 }, (_, i) => ({
        name: `a/A${i}.class`,
        bytes: i === 0 ? body : Buffer.alloc(0),
        claims: { bytes: body.length, crc: crc32(body), offset: 0 },
      }))
      return { 'lib/evil.jar': zipOf(files) }
    },
  },
  {
    id: 'false-sizes',
    tries: 'nested archives that declare 4 GiB and less than their actual size',
    files: () => ({
      'lib/evil.jar': zipOf([
        { name: 'lib/a.jar', bytes: small(), claims: { bytes: 2 ** 32 - 2 } },
        { name: 'lib/b.jar', bytes: padded(32 * MIB), claims: { bytes: 100 } },
      ]),
    }),
  },
  {
    id: 'many-entries',
    tries: '250,000 entries in each of four jars',
    files: () => {
      const none = Buffer.alloc(0)
      const jar = zipOf(
        Array.from({ length: 250_000 }, (_, i) => ({ name: `a/${i}.class`, bytes: none, stored: true })),
        { zip64: true },
      )
      return { 'lib/a.jar': jar, 'lib/b.jar': jar, 'lib/c.jar': jar, 'lib/d.jar': jar }
    },
  },
  ...(['valid', 'empty'] as const).map((kind) => ({
    id: `tiny-classes-${kind}`,
    tries: `200,000 ${kind} classes of the least size`,
    files: () => ({ 'lib/evil.jar': tinyClasses(200_000, kind) }),
  })),
  {
    id: 'tiny-classes-in-many-jars',
    tries: '16 jars of 16,000 classes of the least size, about as many as one may have',
    files: () =>
      Object.fromEntries(
        Array.from({ length: 16 }, (_, i) => [`lib/${i}.jar`, tinyClasses(16_000, 'valid', `${i}`)]),
      ),
  },
  {
    id: 'tiny-classes-nested',
    tries: '4 jars with 20 deflated archives of 20,000 classes each',
    files: () => {
      const jar = nested(20, tinyClasses(20_000, 'valid'))
      return { 'lib/a.jar': jar, 'lib/b.jar': jar, 'lib/c.jar': jar, 'lib/d.jar': jar }
    },
  },
  {
    id: 'endless-manifest',
    tries: 'a manifest of 500 MiB',
    files: () => ({
      'lib/evil.jar': zipOf([{ name: 'META-INF/MANIFEST.MF', bytes: Buffer.alloc(500 * MIB, 'a') }]),
    }),
  },
  {
    id: 'huge-constant-pools',
    tries: '2,000 classes of 65,535 constants each',
    files: () => {
      const pool = Buffer.alloc(65_534 * 5)
      for (let i = 0; i < 65_534; i++) pool.writeUInt8(3, i * 5)
      const head = Buffer.from('cafebabe0000003dffff', 'hex')
      const tail = Buffer.from('00210001000000000000000000000000', 'hex')
      const bytes = Buffer.concat([head, pool, tail])
      return {
        'lib/evil.jar': zipOf(
          Array.from({ length: 2_000 }, (_, i) => ({
            name: `a/A${i}.class`,
            bytes,
            stored: i % 2 === 0 && i < 20,
          })),
        ),
      }
    },
  },
  {
    id: 'no-archives',
    tries: 'jars of noise, of nothing and of an end record alone',
    files: () => ({
      'lib/noise.jar': deflateRawSync(Buffer.alloc(MIB, 'x')),
      'lib/empty.jar': Buffer.alloc(0),
      'lib/end.jar': Buffer.from('504b0506ffffffffffffffffffffffffffffffffffff', 'hex'),
    }),
  },
]
