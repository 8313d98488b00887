import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PathWatch } from '../../../src/lib/fs/path-watch.ts'
import { tempDir } from '../../support/temp-dir.ts'

const everything = { isTree: true, accepts: () => true }

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
    (why) => problems.push(why),
    options,
  )
  onTestFinished(() => watch.close())
  watch.add(dir, everything)
  expect(watch.count).toBe(4)
  expect(new Set(problems)).toEqual(new Set(['more than 4 directories and symbolic links']))
  watch.close()
  expect(watch.count).toBe(0)
})

test('links are followed after all directories, so that those are watched first', async () => {
  const dir = tempDir()
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const name of names) {
    mkdirSync(join(dir, name, 'plain'), { recursive: true })
    for (const other of names) symlinkSync(`../${other}`, join(dir, name, `0-${other}`))
  }
  const changed = new Set<string>()
  const watch = new PathWatch(
    (path) => changed.add(path),
    () => undefined,
    { followsLinks: true, most: 50 },
  )
  onTestFinished(() => watch.close())
  watch.add(dir, everything)
  const files = names.map((name) => join(dir, name, 'plain', 'file'))
  for (const file of files) writeFileSync(file, '')
  await expect.poll(() => [...changed]).toEqual(expect.arrayContaining(files))
})

test.each([
  ['itself', '.'],
  ['the watched directory', '..'],
  ['a directory above', '../..'],
  ['the root directory', '/'],
  ['one of these through another link', '../to-root'],
])('a link to %s is not entered', (_, target) => {
  const dir = tempDir()
  mkdirSync(join(dir, 'watched/sub'), { recursive: true })
  symlinkSync('/', join(dir, 'watched/to-root'))
  symlinkSync(target, join(dir, 'watched/sub/link'))
  const paths: string[] = []
  const watch = new PathWatch(
    () => undefined,
    (why) => expect(why).toBeUndefined(),
    {
      followsLinks: true,
      isSkipped: (path) => {
        paths.push(path)
        return false
      },
    },
  )
  onTestFinished(() => watch.close())
  watch.add(join(dir, 'watched'), everything)
  expect(paths.toSorted()).toEqual(['sub', 'sub/link', 'to-root'].map((each) => join(dir, 'watched', each)))
})
