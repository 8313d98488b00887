import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { storeSuite } from '../../support/content/store-suite.ts'
import { tempDir } from '../../support/temp-dir.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
afterAll(() => rmSync(root, { recursive: true }))
storeSuite('fs', async () => new FsStore(root), 50)

test('O4 a link that points outside the folder is missing, one inside is not', async () => {
  const dir = tempDir()
  mkdirSync(join(dir, 'root'))
  writeFileSync(join(dir, 'secret'), 'secret')
  writeFileSync(join(dir, 'root/page'), 'page')
  symlinkSync('../secret', join(dir, 'root/out'))
  symlinkSync('..', join(dir, 'root/up'))
  symlinkSync('page', join(dir, 'root/in'))
  symlinkSync('loop', join(dir, 'root/loop'))
  const store = new FsStore(join(dir, 'root'))
  expect(await store.open('out')).toBe('missing')
  expect(await store.open('up/secret')).toBe('missing')
  expect(await store.open('loop')).toBe('missing')
  expect(await store.open('in')).toMatchObject({ size: 4 })
})

test('F22 a failure is never reported as a missing object', async () => {
  // A system error other than a missing file.
  const store = new FsStore('/proc/1/root/\0')
  await expect(store.open('x')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(store.listNames('x/')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('special files are missing, and opening one does not block', async () => {
  const dir = tempDir()
  execFileSync('mkfifo', [join(dir, 'pipe')])
  expect(await new FsStore(dir).open('pipe')).toBe('missing')
})
