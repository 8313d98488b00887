import { execFileSync } from 'node:child_process'
import { closeSync, linkSync, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodeTarHeader, TAR_END } from '../../../src/lib/tar/encode-header.ts'
import { BLOCK_BYTES, checksumOf, paddingOf, type TarEntry } from '../../../src/lib/tar/entry.ts'
import { readTar } from '../../../src/lib/tar/read-tar.ts'
import { tempDir } from '../../support/temp-dir.ts'

const LONG = `${'d'.repeat(120)}/${'f'.repeat(200)}`
const FILE = {
  path: 'a',
  type: 'file',
  mode: 0o644,
  size: 3,
  mtimeMs: 1_000_000_000_000,
  linkPath: '',
} as const

/** Splits an archive into small chunks, so that headers and contents cross their borders. */
async function* inChunks(archive: Buffer, bytes = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += bytes) yield archive.subarray(at, at + bytes)
}

async function read(archive: Buffer): Promise<readonly (readonly [TarEntry, string])[]> {
  const items: (readonly [TarEntry, string])[] = []
  for await (const { entry, content } of readTar(inChunks(archive))) {
    let text = ''
    for await (const chunk of content) text += chunk.toString('latin1')
    items.push([entry, text])
  }
  return items
}

function padded(content: string): Buffer {
  return Buffer.concat([Buffer.from(content), Buffer.alloc(paddingOf(content.length))])
}

/** Sets a header's field, and corrects its checksum. */
function withField(header: Buffer, at: number, value: string): Buffer {
  const changed = Buffer.from(header)
  changed.write(value, at, 'latin1')
  changed.write(`${checksumOf(changed).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return changed
}

test.each(['gnu', 'pax', 'ustar', 'oldgnu'])(
  'readTar reads archives that GNU tar writes in the format %s',
  async (format) => {
    const root = tempDir()
    const names = ['plain', ' two words', '-rf', 'new\nline', 'ü', ...(format === 'ustar' ? [] : [LONG])]
    mkdirSync(join(root, 'd'.repeat(120)))
    for (const name of names) writeFileSync(join(root, name), `content of ${name}`, { mode: 0o640 })
    symlinkSync('../outside', join(root, 'link'))
    linkSync(join(root, 'plain'), join(root, 'same'))
    const archive = execFileSync('tar', [
      `--format=${format}`,
      '-C',
      root,
      '-cf',
      '-',
      ...names.map((name) => `./${name}`),
      'link',
      'same',
    ])
    const items = await read(archive)
    const files = items.filter(([{ type }]) => type === 'file')
    expect(files.map(([{ path, mode }, text]) => [path, mode, text])).toEqual(
      names.map((name) => [
        Buffer.from(`./${name}`).toString('latin1'),
        0o640,
        Buffer.from(`content of ${name}`).toString('latin1'),
      ]),
    )
    expect(items.slice(-2).map(([{ type, linkPath }]) => [type, linkPath])).toEqual([
      ['link', '../outside'],
      ['hardlink', './plain'],
    ])
  },
)

test('GNU tar reads the headers that encodeTarHeader writes', () => {
  const archive = Buffer.concat([
    encodeTarHeader({ ...FILE, path: LONG, size: 5 }),
    padded('hello'),
    encodeTarHeader({ ...FILE, path: 'l', type: 'link', size: 0, linkPath: 't'.repeat(300) }),
    TAR_END,
  ])
  const listed = execFileSync('tar', ['--utc', '-tvf', '-'], { input: archive, encoding: 'utf8' })
  expect(listed).toContain(`5 2001-09-09 01:46 ${LONG}\n`)
  expect(listed).toContain(`l -> ${'t'.repeat(300)}\n`)
})

test('readTar reads sizes of more than eleven octal digits', async () => {
  const header = encodeTarHeader({ ...FILE, size: 2 ** 40 })
  const items = readTar(inChunks(header))
  expect((await items.next()).value?.entry.size).toBe(2 ** 40)
})

describe('readTar refuses', () => {
  const header = encodeTarHeader({ ...FILE, size: 0 })
  const pax = (records: string) => [
    withField(encodeTarHeader({ ...FILE, size: records.length }), 156, 'x'),
    padded(records),
    header,
    TAR_END,
  ]
  test.each<readonly [string, readonly Buffer[], string]>([
    ['an archive that ends in a header', [header.subarray(0, 100)], 'ends early'],
    ['an archive that ends in a file', [encodeTarHeader(FILE), Buffer.from('ab')], 'ends early'],
    ['an archive without an end', [header], 'ends early'],
    ['a wrong checksum', [Buffer.from(header).fill('z', 0, 1), TAR_END], 'wrong checksum'],
    [
      'a long name beyond the limit',
      [withField(encodeTarHeader({ ...FILE, size: 2 ** 40 }), 156, 'L')],
      'a header of',
    ],
    [
      'a pax header beyond the limit',
      [withField(encodeTarHeader({ ...FILE, size: 70_000 }), 156, 'x')],
      'a header of',
    ],
    ['a size that is not a number', [withField(header, 124, '12345678z')], 'invalid size'],
    ['a size beyond what is exact', [withField(header, 124, `\u00ff${'\u00ff'.repeat(11)}`)], 'invalid size'],
    ['a pax record that is too long', pax('99 path=x\n'), 'invalid record'],
    ['a pax record without a length', pax('path=x\n'), 'invalid record'],
    ['a pax size that is not a number', pax('11 size=-1\n'), 'invalid size'],
    ['a sparse file', pax('22 GNU.sparse.major=1\n'), 'sparse'],
    ['an empty name', [withField(header, 0, '\0')], '0 bytes'],
    [
      'a name beyond the limit',
      [encodeTarHeader({ ...FILE, path: 'n'.repeat(5000), size: 0 }), TAR_END],
      '5000 bytes',
    ],
  ])('%s', async (_case, parts, message) => {
    await expect(read(Buffer.concat(parts))).rejects.toThrow(message)
  })
})

test('readTar skips content that is not read', async () => {
  const archive = Buffer.concat([
    encodeTarHeader({ ...FILE, size: 1500 }),
    Buffer.alloc(1500 + paddingOf(1500), 1),
    encodeTarHeader({ ...FILE, path: 'b', size: 0 }),
    TAR_END,
    Buffer.alloc(20 * BLOCK_BYTES),
  ])
  const paths: string[] = []
  for await (const { entry } of readTar(inChunks(archive))) paths.push(entry.path)
  expect(paths).toEqual(['a', 'b'])
})

test('the heads and contents of an archive that is passed on are the archive, also with sparse files', async () => {
  const root = tempDir()
  writeFileSync(join(root, 'ü'.repeat(100)), 'content')
  const file = openSync(join(root, 'sparse'), 'w')
  writeSync(file, 'data', 5_000_000)
  closeSync(file)
  linkSync(join(root, 'sparse'), join(root, 'same'))
  const argv = ['--format=posix', '--sparse', '--sort=name', '-C', root, '-cf', '-', '.']
  const archive = execFileSync('tar', argv)
  expect(archive.length).toBeLessThan(100_000)
  const parts: Buffer[] = []
  const names: string[] = []
  for await (const { entry, head, content } of readTar(inChunks(archive), { isPassedOn: true })) {
    names.push(entry.path)
    parts.push(...head)
    for await (const chunk of content) parts.push(chunk)
    parts.push(Buffer.alloc(paddingOf(entry.size)))
  }
  expect(names).toEqual(['./', './same', './sparse', `./${Buffer.from('ü'.repeat(100)).toString('latin1')}`])
  const passed = Buffer.concat(parts)
  expect(passed.equals(archive.subarray(0, passed.length))).toBe(true)
  expect(archive.subarray(passed.length).every((byte) => byte === 0)).toBe(true)
})
