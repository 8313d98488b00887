import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { setFrozen } from '../../../../../src/workspace/backend/docker/engine/freezer.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

test.each([
  { file: 'freezer/docker/abc/freezer.state', contents: ['FROZEN', 'THAWED'] },
  { file: 'system.slice/docker-abc.scope/cgroup.freeze', contents: ['1', '0'] },
  { file: 'machine.slice/libpod-abc.scope/cgroup.freeze', contents: ['1', '0'] },
])('a container is frozen and thawed by $file', async ({ file, contents }) => {
  const path = join(tempDir(), file)
  const root = path.slice(0, -file.length)
  mkdirSync(dirname(path), { recursive: true })
  for (const [at, content] of contents.entries()) {
    writeFileSync(path, '')
    expect(await setFrozen('abc', at === 0, root)).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe(content)
  }
})

test('a container that is not on this machine cannot be thawed', async () => {
  expect(await setFrozen('abc', false, tempDir())).toBe(false)
})
