import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { setAlias } from '../../../src/content/publish/alias.ts'
import { publish, type PublishRequest } from '../../../src/content/publish/publish.ts'
import { unpublish } from '../../../src/content/publish/unpublish.ts'
import { readMeta } from '../../../src/content/repo/stored-meta.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { tempDir } from '../../support/temp-dir.ts'

function publisher() {
  const store = new FsStore(tempDir())
  const run = (more: Partial<PublishRequest>, files: readonly string[] = ['index.html']) => {
    const folder = tempDir()
    for (const path of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), path)
    }
    return publish({ folder, repo: 'guide', deletes: true, ...more }, { store, nowMs: 0 })
  }
  const meta = () => readMeta(store, 'guide', 'repos/guide/')
  return { store, run, meta }
}

test('the latest version is decided by its number, not by the time of its publication', async () => {
  const { run, meta, store } = publisher()
  for (const version of ['1.0', '2.0', '2.1-rc.1', '1.0.1']) await run({ version })
  expect(await meta()).toMatchObject({ versions: ['1.0.1', '2.1-rc.1', '2.0', '1.0'], latest: '2.0' })
  await unpublish({ repo: 'guide', version: '2.0' }, store)
  expect((await meta()).latest).toBe('1.0.1')
})

test('an alias is set by a publish, moved by the next, and removed with its version', async () => {
  const { run, meta, store } = publisher()
  await run({ version: '1.0', aliases: ['stable', 'lts'] })
  await run({ version: '2.0', aliases: ['stable'] })
  expect(Object.fromEntries((await meta()).aliases ?? [])).toEqual({ stable: '2.0', lts: '1.0' })
  await run({})
  expect((await meta()).aliases?.size).toBe(2)
  const { removedAliases } = await unpublish({ repo: 'guide', version: '1.0' }, store)
  expect(removedAliases).toEqual(['lts'])
  expect((await meta()).aliases).toEqual(new Map([['stable', '2.0']]))
})

test('an alias can be changed without publishing', async () => {
  const { run, meta, store } = publisher()
  for (const version of ['1.0', '2.0']) await run({ version })
  const set = (alias: string, version?: string) => setAlias({ repo: 'guide', alias, version }, store)
  await set('stable', '2.0')
  await set('stable', '1.0')
  expect((await meta()).aliases).toEqual(new Map([['stable', '1.0']]))
  await set('stable')
  expect((await meta()).aliases).toBeUndefined()
  await expect(set('stable')).rejects.toThrow('has no alias "stable"')
  await expect(set('stable', '9')).rejects.toThrow('has no version "9"')
  await expect(setAlias({ repo: '../x', alias: 'a', version: '1.0' }, store)).rejects.toThrow(
    'cannot be the name',
  )
})

test('an alias never hides a version or a folder, and no version or folder hides an alias', async () => {
  const { run, store } = publisher()
  await run({}, ['index.html', 'dir/page.html'])
  await run({ version: '1.0', aliases: ['stable'] })
  const refused = [
    [{ version: '2.0', aliases: ['1.0'] }, '"1.0" is a version'],
    [{ version: '2.0', aliases: ['2.0'] }, '"2.0" is a version'],
    [{ version: '2.0', aliases: ['latest'] }, 'always the latest version'],
    [{ version: '2.0', aliases: ['dir'] }, 'would hide the folder "dir"'],
    [{ version: '2.0', aliases: ['../x'] }, 'must consist of letters'],
    [{ version: '2.0', aliases: Array.from({ length: 101 }, (_, i) => `a${i}`) }, 'at most 100 aliases'],
    [{ version: 'stable' }, '"stable" is an alias of version "1.0"'],
    [{ aliases: ['x'] }, 'an alias requires a version'],
  ] as const
  for (const [request, message] of refused) await expect(run(request)).rejects.toThrow(message)
  for (const folder of ['stable', 'latest'])
    await expect(run({}, [`${folder}/index.html`])).rejects.toThrow('would be hidden by the alias')
  await expect(setAlias({ repo: 'guide', alias: '1.0', version: '1.0' }, store)).rejects.toThrow(
    'is a version',
  )
})

test('the first version is refused if the repository has a folder "latest"', async () => {
  const { run } = publisher()
  await run({}, ['latest/index.html'])
  await expect(run({ version: '1.0' })).rejects.toThrow('would hide the folder "latest"')
})
