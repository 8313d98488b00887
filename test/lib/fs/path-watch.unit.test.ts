import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PathWatch } from '../../../src/lib/fs/path-watch.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('directories and links above the maximum are a problem, and those below are watched', () => {
  const dir = tempDir()
  for (const name of ['a', 'b', 'c']) {
    mkdirSync(join(dir, name))
    symlinkSync('missing', join(dir, `link-${name}`))
  }
  const problems: string[] = []
  const options = { followsLinks: true, most: 4 }
  const watch = new PathWatch(
    () => undefined,
    ({ message }) => problems.push(message),
    options,
  )
  onTestFinished(() => watch.close())
  watch.add(dir, { isTree: true, accepts: () => true })
  expect(watch.count).toBe(4)
  expect(new Set(problems)).toEqual(new Set(['more than 4 directories and symbolic links']))
  watch.close()
  expect(watch.count).toBe(0)
})
