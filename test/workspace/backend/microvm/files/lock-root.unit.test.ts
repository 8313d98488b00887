import { chownSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockRoot } from '../../../../../src/workspace/backend/microvm/files/lock-root.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

test.each([
  ['the root directory', () => '/'],
  [
    'the root directory behind a link',
    (at: string) => (symlinkSync('/', join(at, 'link')), join(at, 'link')),
  ],
  ['the home directory', () => homedir()],
  ['a directory that holds something else', (at: string) => (writeFileSync(join(at, 'thesis.odt'), ''), at)],
])('P8 %s is refused as a root, and nothing is created in it', async (_what, make) => {
  const root = make(tempDir())
  const before = readdirSync(root)
  await expect(lockRoot(root, 'qemu')).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringMatching(/cannot be qemu\.root: .*; use a dedicated directory/) as unknown,
  })
  expect(readdirSync(root)).toEqual(before)
})

test.runIf(process.getuid?.() === 0)('P8 a directory of another user is refused as a root', async () => {
  const root = tempDir()
  chownSync(root, 65_534, 65_534)
  await expect(lockRoot(root, 'qemu')).rejects.toThrow(/belongs to user 65534/)
})

test('P8 a root is locked by one server at a time, and accepted with any content once it is ours', async () => {
  const root = join(tempDir(), 'new/qemu')
  const release = await lockRoot(root, 'qemu')
  await expect(lockRoot(root, 'qemu')).rejects.toThrow(/another server uses/)
  writeFileSync(join(root, 'notes.txt'), '')
  await release()
  await (
    await lockRoot(root, 'qemu')
  )()
})

test('P8 a root that received images before a server used it is accepted', async () => {
  const root = tempDir()
  for (const name of ['images', 'uppers', 'instances']) mkdirSync(join(root, name))
  const release = await lockRoot(root, 'qemu')
  await expect(release()).resolves.toBeUndefined()
})
