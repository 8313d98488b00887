import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodeTarHeader, TAR_END } from '../../../src/lib/tar/encode-header.ts'
import { checksumOf, paddingOf, type SparseLayout, type TarEntry } from '../../../src/lib/tar/entry.ts'
import { readTar } from '../../../src/lib/tar/read-tar.ts'
import { placed } from '../../../src/lib/tar/sparse.ts'
import { fc } from '../../support/fast-check.ts'
import { SPARSE_FILES, writeSparseFile } from '../../support/files/sparse-file.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Splits an archive, so that maps and contents cross the borders of chunks. */
async function* inChunks(archive: Buffer, bytes = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += bytes) yield archive.subarray(at, at + bytes)
}

/** Reads files with their holes. */
async function read(archive: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  for await (const { entry, content } of readTar(inChunks(archive), { acceptsSparse: true })) {
    if (entry.type !== 'file') continue
    const file = Buffer.alloc(entry.layout?.fileBytes ?? entry.size)
    for await (const { at, bytes } of placed(content, entry.layout)) bytes.copy(file, at)
    files.set(entry.path, file)
  }
  return files
}

const dataBytes = ({ extents }: SparseLayout): number => extents.reduce((sum, { length }) => sum + length, 0)

/** Encodes a file with a layout, whose data are those of the content. */
function encode(path: string, layout: SparseLayout, content: Buffer): Buffer {
  const size = dataBytes(layout)
  const head = encodeTarHeader({ type: 'file', path, linkPath: '', mode: 0o600, size, mtimeMs: 0, layout })
  const data = layout.extents.map(({ offset, length }) => content.subarray(offset, offset + length))
  return Buffer.concat([head, ...data, Buffer.alloc(paddingOf(size))])
}

describe.each(Object.entries(SPARSE_FILES))('a file with %s', (_kind, layout) => {
  test('is read from an archive of GNU tar, which has its data only', async () => {
    const root = tempDir()
    const content = writeSparseFile(join(root, 'vol'), layout)
    const archive = execFileSync('tar', ['--format=gnu', '--sparse', '-C', root, '-cf', '-', 'vol'])
    expect(archive.length).toBeLessThanOrEqual(dataBytes(layout) + 10_240 + 512 * layout.extents.length)
    expect((await read(archive)).get('vol')?.equals(content)).toBe(true)
  })

  test('is written for GNU tar, which restores its holes', () => {
    const root = tempDir()
    const content = writeSparseFile(join(root, 'vol'), layout)
    const into = join(root, 'into')
    mkdirSync(into)
    const archive = Buffer.concat([encode('vol', layout, content), TAR_END])
    execFileSync('tar', ['-C', into, '-xf', '-'], { input: archive })
    expect(readFileSync(join(into, 'vol')).equals(content)).toBe(true)
    expect(statSync(join(into, 'vol')).blocks * 512).toBeLessThan(dataBytes(layout) + 16 * 1024)
  })
})

test('what is written is read, with extents anywhere, also beyond 8 GiB', async () => {
  const part = fc.tuple(fc.nat({ max: 2 ** 20 }), fc.integer({ min: 1, max: 3_000 }))
  const parts = fc.array(part, { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(parts, fc.nat({ max: 3 }), fc.nat({ max: 9 }), async (given, gap, far) => {
      let end = far * 2 ** 40
      const extents = given.map(([hole, length]) => {
        const offset = end + hole * gap
        end = offset + length
        return { offset, length }
      })
      const layout = { fileBytes: end + gap, extents }
      const size = dataBytes(layout)
      const entry = { type: 'file', path: 'a', linkPath: '', mode: 0o600, size, mtimeMs: 0, layout } as const
      const data = Buffer.alloc(size, 'x')
      const archive = Buffer.concat([encodeTarHeader(entry), data, Buffer.alloc(paddingOf(size)), TAR_END])
      const items: TarEntry[] = []
      for await (const { entry: each, content } of readTar(inChunks(archive), { acceptsSparse: true })) {
        items.push(each)
        const pieces = new Map<number, number>()
        for await (const { at, bytes } of placed(content, each.layout)) pieces.set(at, bytes.length)
        expect([...pieces.values()].reduce((sum, length) => sum + length, 0)).toBe(size)
        for (const { offset } of extents) expect(pieces.has(offset)).toBe(true)
      }
      expect(items).toEqual([entry])
    }),
    { numRuns: rounds(50, 2_000) },
  )
})

/** Sets a field of a header, and corrects its checksum. */
function withField(header: Buffer, at: number, value: string): Buffer {
  const changed = Buffer.from(header)
  changed.write(value, at, 'latin1')
  changed.write(`${checksumOf(changed).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return changed
}

describe('a hostile map', () => {
  const good = encode('a', SPARSE_FILES['hole in the middle'] as SparseLayout, Buffer.alloc(2 ** 20, 'x'))
  const SECOND = 386 + 24
  test.each([
    ['extents that overlap', SECOND, '00000000000'],
    ['an extent beyond the end', SECOND, '00004000000'],
    ['less content than its extents', 124, '00000000001'],
    ['more content than its extents', 124, '00000100000'],
    ['an invalid number', SECOND, 'x'],
    ['a number beyond all', SECOND, '\xFF'.repeat(12)],
  ])('with %s is refused', async (_what, at, value) => {
    const archive = Buffer.concat([withField(good, at, value), Buffer.alloc(2 ** 20), TAR_END])
    await expect(read(archive)).rejects.toThrow(/damaged/)
  })

  test('that a pax header contradicts is refused', async () => {
    const record = '13 size=99999\n'
    const pax = withField(
      encodeTarHeader({ type: 'file', path: 'x', linkPath: '', mode: 0, size: 14, mtimeMs: 0 }),
      156,
      'x',
    )
    const archive = Buffer.concat([
      pax,
      Buffer.from(record.replace('13', '14')),
      Buffer.alloc(498),
      good,
      Buffer.alloc(2 ** 20),
      TAR_END,
    ])
    await expect(read(archive)).rejects.toThrow(/sparse map has another size/)
  })

  test('without end is refused before it fills the memory', { tags: ['long'] }, async () => {
    const block = Buffer.alloc(512)
    block[504] = 1
    async function* endless(): AsyncGenerator<Buffer> {
      yield withField(good.subarray(0, 512), 482, '\x01')
      const blocks = Buffer.concat(Array<Buffer>(128).fill(block))
      for (;;) yield blocks
    }
    const all = async (): Promise<void> => {
      for await (const { entry } of readTar(endless(), { acceptsSparse: true })) expect(entry).toBeUndefined()
    }
    await expect(all()).rejects.toThrow(/more than 1048576 parts/)
  })

  test('is refused by readers that have no use for it', async () => {
    await expect(readTar(inChunks(good)).next()).rejects.toThrow(/sparse/)
  })
})
