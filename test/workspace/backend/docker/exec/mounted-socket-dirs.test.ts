import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MountedSocketDirs } from '../../../../../src/workspace/backend/docker/exec/mounted-socket-dirs.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

const RUNNER = 'workspace-run'

test('a start removes what a killed server left, and nothing else', async () => {
  const stale = tempDir()
  const outside = join(tempDir(), 'kept')
  writeFileSync(outside, 'kept')
  const old = await MountedSocketDirs.own(stale)
  const directory = await old.create('Demo')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(directory, 'f'.repeat(32)), resolve))
  onTestFinished(() => void server.close())
  symlinkSync(outside, join(directory, 'link'))
  mkdirSync(join(directory, 'folder'))
  writeFileSync(join(stale, '.half-made'), '')
  writeFileSync(join(directory, `${RUNNER}.next`), '')

  await MountedSocketDirs.own(stale)
  expect(readdirSync(stale).toSorted()).toEqual([`.${RUNNER}`, 'demo'])
  expect(readdirSync(directory).toSorted()).toEqual(['folder', RUNNER])
  expect(existsSync(outside)).toBe(true)
})

test('directories of deleted workspaces are removed, but only by the owner', async () => {
  const stale = tempDir()
  const dirs = await MountedSocketDirs.own(stale)
  for (const name of ['stays', 'goes', 'holds']) await dirs.create(name)
  mkdirSync(join(stale, 'holds', 'what-we-never-made'))
  await MountedSocketDirs.use(stale).prune(() => Promise.resolve([]))
  expect(readdirSync(stale)).toContain('goes')
  await dirs.prune(() => Promise.reject(new Error('the engine is away'))).catch(() => undefined)
  expect(readdirSync(stale)).toContain('goes')
  await dirs.prune(() => Promise.resolve(['Stays']))
  expect(readdirSync(stale).toSorted()).toEqual([`.${RUNNER}`, 'holds', 'stays'])
})
