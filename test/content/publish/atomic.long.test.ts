import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { publish } from '../../../src/content/publish/publish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { startContent } from '../../support/content/content-server.ts'
import { publishSuite } from '../../support/content/publish-suite.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

publishSuite('fs', async () => new FsStore(tempDir()), 8)

const READERS = 8

test('Y6 under load a script belongs to the publication of its page', { tags: ['long'] }, async () => {
  const { ask, store } = await startContent(
    {},
    { settings: { cache: { ttl: '300ms', negative_ttl: '300ms' } } },
  )
  const folder = tempDir()
  const publishVersion = async (version: number): Promise<void> => {
    mkdirSync(join(folder, 'more'), { recursive: true })
    const files = ['index.html', 'app.js', ...Array.from({ length: 150 }, (_, i) => `more/${i}.txt`)]
    for (const path of files) writeFileSync(join(folder, path), `${version}`)
    await publish({ folder, repo: 'guide', deletes: true }, { store, nowMs: Date.now() })
  }
  await publishVersion(1)
  const versionOf = async (path: string) => Number(await (await ask(`/repos/guide/${path}`)).text())
  const over = new AbortController()
  const torn: (readonly number[])[] = []
  const counts = { pairs: 0, straddling: 0 }
  /** Latest version that each reader has read. */
  const last: number[] = []
  const read = async (reader: number): Promise<void> => {
    while (!over.signal.aborted) {
      const [page, script, pageAgain] = [await versionOf(''), await versionOf('app.js'), await versionOf('')]
      counts.pairs++
      last[reader] = pageAgain
      if (page !== script) counts.straddling++
      // Only a switch between two requests of a reader may separate them.
      if (script !== page && script !== pageAgain) torn.push([page, script, pageAgain])
      if (script < page || pageAgain < script) torn.push([page, script, pageAgain])
    }
  }
  const readers = Array.from({ length: READERS }, (_, reader) => read(reader))
  for (const version of [2, 3, 4]) {
    await publishVersion(version)
    await waitFor('each reader to have it', () => last.every((each) => each === version))
    const before = counts.pairs
    await waitFor('more reads', () => counts.pairs > before + 100)
  }
  over.abort()
  await Promise.all(readers)
  expect(torn).toEqual([])
  // Each of the three switches can separate one pair of each reader.
  expect(counts.straddling).toBeLessThanOrEqual(3 * READERS)
  expect(await versionOf('app.js')).toBe(4)
})
