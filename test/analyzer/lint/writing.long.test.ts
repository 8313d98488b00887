import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSource, replaceSource } from '../../../src/analyzer/lint/source-file.ts'
import { styleProject, TIDY, UNTIDY } from '../../support/analyzer/style-project.ts'
import { tempDir } from '../../support/temp-dir.ts'

describe('a file that is written', () => {
  test('keeps its mode, and leaves no other files', async () => {
    const { root, post } = await styleProject({ 'src/A.java': UNTIDY })
    const file = join(root, 'src/A.java')
    for (const mode of [0o600, 0o775, 0o666]) {
      writeFileSync(file, UNTIDY)
      chmodSync(file, mode)
      await post('/format/project', {})
      expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o7777]).toEqual([TIDY, mode])
    }
    expect(readdirSync(join(root, 'src'))).toEqual(['A.java'])
  })

  test('keeps its line ends and its byte order mark, unless configured otherwise', async () => {
    const windows = (text: string): string => `\u{feff}${text.replaceAll('\n', '\r\n')}`
    const { post, read, write } = await styleProject({ 'src/A.java': windows(UNTIDY) })
    await post('/format/project', {})
    expect(read('src/A.java')).toBe(windows(TIDY))
    expect((await post('/lint/project', {})).totalErrorCount).toBe(0)
    write('.editorconfig', '[*]\nend_of_line = lf\n')
    await post('/format/project', {})
    expect(read('src/A.java')).toBe(`\u{feff}${TIDY}`)
  })

  test('with hard links is replaced, and the other links keep the old content', async () => {
    const { root, post, read } = await styleProject({ 'src/A.java': UNTIDY })
    const other = join(tempDir(), 'other')
    linkSync(join(root, 'src/A.java'), other)
    await post('/format/project', {})
    expect([read('src/A.java'), readFileSync(other, 'utf8')]).toEqual([TIDY, UNTIDY])
  })

  test('is not written if it changed since it was read', async () => {
    const file = join(tempDir(), 'A.java')
    writeFileSync(file, UNTIDY)
    const { stat } = await readSource(file, 1000)
    writeFileSync(file, UNTIDY.replace('1', '2'))
    utimesSync(file, 1, 1)
    await expect(replaceSource(file, TIDY, stat)).rejects.toThrow('it changed while it was formatted')
    expect(readFileSync(file, 'utf8')).toBe(UNTIDY.replace('1', '2'))
    expect(readdirSync(join(file, '..'))).toEqual(['A.java'])
  })
})

describe('A7 links', () => {
  test('that point outside of the project are rejected by name, and skipped in a project', async () => {
    const outside = join(tempDir(), 'Secret.java')
    writeFileSync(outside, UNTIDY)
    const { root, ask, post } = await styleProject({ 'src/A.java': UNTIDY })
    symlinkSync(outside, join(root, 'src/Link.java'))
    mkdirSync(join(outside, '../folder'))
    writeFileSync(join(outside, '../folder/F.java'), UNTIDY)
    symlinkSync(join(outside, '../folder'), join(root, 'src/folder'))
    for (const filePath of [
      'src/Link.java',
      'src/folder/F.java',
      outside,
      '../../../../../../etc/passwd',
      '/etc/passwd',
    ]) {
      const { status, body } = await ask('/format/file', { filePath, writeToFile: true })
      expect([status, body.message]).toEqual([400, expect.stringContaining('is not inside the project')])
    }
    expect(await post('/format/project', {})).toMatchObject({
      filesFormatted: ['src/A.java'],
      filesScanned: 1,
    })
    expect(readFileSync(outside, 'utf8')).toBe(UNTIDY)
    expect(readFileSync(join(outside, '../folder/F.java'), 'utf8')).toBe(UNTIDY)
  })

  test('that stay inside are followed to their target, and stay links', async () => {
    const { root, post, read } = await styleProject({ 'src/A.java': UNTIDY })
    symlinkSync('A.java', join(root, 'src/Link.java'))
    const answer = await post('/format/file', { filePath: 'src/Link.java', writeToFile: true })
    expect([answer.filePath, answer.hasChanges]).toEqual(['src/A.java', true])
    expect([read('src/A.java'), lstatSync(join(root, 'src/Link.java')).isSymbolicLink()]).toEqual([
      TIDY,
      true,
    ])
  })

  test('to nothing, folders and odd names are rejected', async () => {
    const { root, ask } = await styleProject({ 'src/A.java': UNTIDY })
    symlinkSync('nothing', join(root, 'src/Gone.java'))
    mkdirSync(join(root, 'src/Folder.java'))
    const statuses = ['src/Gone.java', 'src/Folder.java', 'src/\0.java'].map(
      async (filePath) => (await ask('/format/file', { filePath, writeToFile: true })).status,
    )
    expect(await Promise.all(statuses)).toEqual([404, 400, 400])
  })
})
