import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseLocalDir } from '../../../src/workspace/lifecycle/local-dir.ts'
import { tempDir } from '../../support/temp-dir.ts'

describe('parseLocalDir', () => {
  const state = '/var/lib/some-state'

  test('W4 accepts a directory', async () => {
    const path = tempDir()
    expect(await parseLocalDir(path, [state])).toBe(path)
    expect(await parseLocalDir(`${path}/`, [state])).toBe(path)
  })

  test('W4 accepts names with colons, commas and blanks unchanged', async () => {
    const path = join(tempDir(), 'a:ro,b c')
    mkdirSync(path)
    expect(await parseLocalDir(path, [state])).toBe(path)
  })

  test('W4 resolves a link once, at creation', async () => {
    const path = tempDir()
    mkdirSync(join(path, 'real'))
    symlinkSync(join(path, 'real'), join(path, 'link'))
    expect(await parseLocalDir(join(path, 'link'), [state])).toBe(join(path, 'real'))
  })

  test.each([
    '',
    'relative',
    './x',
    '~/x',
    '/tmp/../etc',
    '/..',
    '/tmp\n/x',
    '/tmp\0',
    '/tmp/a:/etc:ro',
    '/no/such/directory',
    '/',
    '//',
    '/./',
    '/etc/passwd',
    '/dev/null',
    `/${'x'.repeat(5000)}`,
  ])('W4 refuses %j', async (path) => {
    await expect(parseLocalDir(path, [state])).rejects.toMatchObject({ code: 'INVALID_LOCAL_DIR' })
  })

  test('W4 refuses the server’s own directories, their parents and their children', async () => {
    const parent = tempDir()
    const own = join(parent, 'state')
    mkdirSync(join(own, 'inside'), { recursive: true })
    mkdirSync(join(parent, 'state-not'))
    symlinkSync(own, join(parent, 'link'))
    for (const path of [parent, own, join(own, 'inside'), join(parent, 'link')]) {
      await expect(parseLocalDir(path, [own])).rejects.toMatchObject({ code: 'INVALID_LOCAL_DIR' })
    }
    expect(await parseLocalDir(join(parent, 'state-not'), [own])).toBe(join(parent, 'state-not'))
  })

  test('W4 refuses a link to the root and a file behind a link', async () => {
    const path = tempDir()
    symlinkSync('/', join(path, 'root'))
    writeFileSync(join(path, 'file'), '')
    symlinkSync(join(path, 'file'), join(path, 'to-file'))
    for (const name of ['root', 'to-file']) {
      await expect(parseLocalDir(join(path, name), [state])).rejects.toMatchObject({
        code: 'INVALID_LOCAL_DIR',
      })
    }
  })
})
