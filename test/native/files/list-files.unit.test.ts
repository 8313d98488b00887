import { lstatSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles } from '../../../src/native/files/list-files.ts'
import { listFilesByNode } from '../../oracle/list-files.ts'
import { tempDir } from '../../support/temp-dir.ts'

const RULE = { ending: '.class', skipped: 'META-INF' }

function folderOf(files: readonly string[]): string {
  const folder = tempDir()
  for (const [i, file] of files.entries()) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), 'x'.repeat(i))
    utimesSync(join(folder, file), 0, 1_700_000_000.123_457 + i / 7)
  }
  return folder
}

describe.each([
  { name: 'the addon', list: listFiles },
  { name: 'node:fs', list: listFilesByNode },
])('listFiles by $name', ({ list }) => {
  it('orders names without the suffix, and reports sizes and times like node:fs', () => {
    const files = [
      'demo/A.class',
      'demo/A$B.class',
      'demo/\u{1F600}.class',
      'demo/\uFF21.class',
      'a-b/é.class',
    ]
    const folder = folderOf([...files, 'META-INF/versions/9/A.class', 'demo/A.java'])
    const listed = list(folder, RULE)
    expect(listed.problems).toEqual([])
    expect(listed.files.map(({ name }) => name)).toEqual([
      'a-b/é.class',
      'demo/A.class',
      'demo/A$B.class',
      'demo/\uFF21.class',
      'demo/\u{1F600}.class',
    ])
    for (const { name, bytes, modifiedMs } of listed.files) {
      const { size, mtimeMs } = lstatSync(join(folder, name))
      expect({ bytes, modifiedMs }).toEqual({ bytes: size, modifiedMs: mtimeMs })
    }
  })

  it('follows no links and returns nothing for an empty folder', () => {
    const folder = folderOf(['demo/A.class'])
    symlinkSync(join(folder, 'demo'), join(folder, 'linked'))
    symlinkSync('A.class', join(folder, 'demo/B.class'))
    expect(list(folder, RULE).files.map(({ name }) => name)).toEqual(['demo/A.class'])
    expect(list(tempDir(), RULE)).toEqual({ files: [], problems: [] })
  })

  it('reports what it cannot read', () => {
    const folder = folderOf([])
    const gone = join(folder, 'gone')
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(list(gone, RULE).problems[0]).toMatchObject({ code: 'ENOENT', path: gone })
    expect(list(file, RULE).problems[0]).toMatchObject({ code: 'ENOTDIR', path: file })
    expect(() => listFiles('a\0b', RULE)).toThrow('path contains a NUL')
  })
})
