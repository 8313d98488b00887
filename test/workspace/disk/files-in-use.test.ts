import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FilesInUse } from '../../../src/workspace/disk/files-in-use.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** A file that this process has open; removed with the test. */
function openFile(dir: string): string {
  const path = join(dir, 'disk.img')
  const fd = openSync(path, 'w')
  onTestFinished(() => closeSync(fd))
  return path
}

test.runIf(process.platform === 'linux')('a file is in use while a process has it open', async () => {
  const dir = tempDir()
  const path = openFile(dir)
  // Before the snapshot: a later file can have the inode of one that was open then.
  const other = join(dir, 'other.img')
  writeFileSync(other, '')
  const inUse = await FilesInUse.read()
  expect(await inUse.userOfFile(path)).toBe(`process ${process.pid} has it open`)
  expect(await inUse.userOfFile(other)).toBe('')
})

// Only root may write there.
test.runIf(process.platform === 'linux' && process.getuid?.() === 0).each(['/dev', '/proc', '/sys'])(
  'a file is in use in a folder whose name only begins with %s',
  async (name) => {
    const dir = mkdtempSync(`${name}-test-`)
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const path = openFile(dir)
    expect(await (await FilesInUse.read()).userOfFile(path)).toBe(`process ${process.pid} has it open`)
  },
)
