import { readFile } from 'node:fs/promises'
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { FollowedFiles } from '../../../src/lib/fs/followed-files.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Follows files that must have the same content, as a certificate and its key belong together. */
async function start(...paths: readonly string[]) {
  const read = vi.fn<() => Promise<string>>(async () => {
    const contents = await Promise.all(paths.map((path) => readFile(path, 'utf8')))
    if (new Set(contents).size !== 1) throw new Error(`unequal: ${contents.join()}`)
    return contents[0] ?? ''
  })
  const followed = await FollowedFiles.open(paths, read)
  const clock = new FakeClock()
  const changes: string[] = []
  const end = followed.follow(clock, {
    onChange: (value) => void changes.push(value),
    onProblem: (error) => void changes.push((error as Error).message),
  })
  const look = async (): Promise<void> => {
    const looks = read.mock.calls.length
    await clock.pass(2_000)
    // The comparison reads files, for which no timer counts.
    await waitFor('the next look to be planned', () => clock.timers === 1)
    expect(read.mock.calls.length - looks).toBeLessThanOrEqual(1)
  }
  return { followed, clock, changes, end, look, read }
}

/** Writes a file in one step, under a new inode. */
function replace(path: string, content: string): void {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}

test('a replaced file is read once, and not before it has settled', async () => {
  const path = join(tempDir(), 'token')
  writeFileSync(path, 'one')
  const { followed, changes, look, read } = await start(path)
  for (let i = 0; i < 3; i++) await look()
  expect(read).toHaveBeenCalledOnce()
  replace(path, 'two')
  await look()
  expect(followed.value).toBe('one')
  for (let i = 0; i < 3; i++) await look()
  expect([followed.value, ...changes]).toEqual(['two', 'two'])
})

test('a file that is written in place is read again', async () => {
  const path = join(tempDir(), 'token')
  writeFileSync(path, 'one')
  // Of another time for certain: a file system's clock advances in steps.
  utimesSync(path, 1, 1)
  const { followed, look } = await start(path)
  writeFileSync(path, 'two')
  for (let i = 0; i < 2; i++) await look()
  expect(followed.value).toBe('two')
})

test('files are read together: one that is replaced later than the other is waited for', async () => {
  const dir = tempDir()
  const [cert, key] = [join(dir, 'cert'), join(dir, 'key')]
  for (const path of [cert, key]) writeFileSync(path, 'one')
  const { followed, changes, look } = await start(cert, key)
  replace(cert, 'two')
  await look()
  replace(key, 'two')
  for (let i = 0; i < 3; i++) await look()
  expect([followed.value, ...changes]).toEqual(['two', 'two'])
})

test('content that cannot be used is reported once, and the previous content stays', async () => {
  const dir = tempDir()
  const [cert, key] = [join(dir, 'cert'), join(dir, 'key')]
  for (const path of [cert, key]) writeFileSync(path, 'one')
  const { followed, changes, look } = await start(cert, key)
  replace(cert, 'two')
  for (let i = 0; i < 4; i++) await look()
  expect([followed.value, ...changes]).toEqual(['one', 'unequal: two,one'])
  rmSync(key)
  for (let i = 0; i < 4; i++) await look()
  expect(changes.slice(1)).toEqual([expect.stringContaining('ENOENT')])
  replace(key, 'two')
  for (let i = 0; i < 2; i++) await look()
  expect(followed.value).toBe('two')
})

test('a link to another directory is noticed, as volumes of secrets are replaced', async () => {
  const dir = tempDir()
  for (const version of ['one', 'two']) {
    mkdirSync(join(dir, version))
    writeFileSync(join(dir, version, 'token'), version)
  }
  symlinkSync('one', join(dir, 'now'))
  const { followed, look } = await start(join(dir, 'now/token'))
  symlinkSync('two', join(dir, 'next'))
  renameSync(join(dir, 'next'), join(dir, 'now'))
  for (let i = 0; i < 2; i++) await look()
  expect(followed.value).toBe('two')
})

test('nothing is compared after the end', async () => {
  const path = join(tempDir(), 'token')
  writeFileSync(path, 'one')
  const { followed, clock, end, look } = await start(path)
  replace(path, 'two')
  await look()
  end()
  await clock.pass(60_000)
  expect([followed.value, clock.timers]).toEqual(['one', 0])
})
