import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bringToFormat } from '../../../src/lib/fs/format-file.ts'

let directory = ''
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'format-'))))
afterEach(() => rm(directory, { recursive: true }))

const format = () => readFile(join(directory, 'format'), 'utf8')
const setFormat = (text: string) => writeFile(join(directory, 'format'), text)

/** Returns two steps that record their execution. */
function steps() {
  const done: number[] = []
  return { done, migrations: [async () => void done.push(1), async () => void done.push(2)] }
}

describe('bringToFormat', () => {
  test('marks a directory without a format as the first format once', async () => {
    await bringToFormat(directory)
    expect(await format()).toBe('1\n')
    await bringToFormat(directory)
    expect(await format()).toBe('1\n')
  })

  test('runs the missing steps of an older format in order', async () => {
    const all = steps()
    await bringToFormat(directory, all.migrations)
    expect(all.done).toEqual([1, 2])
    expect(await format()).toBe('3\n')
    await setFormat('2\n')
    const rest = steps()
    await bringToFormat(directory, rest.migrations)
    expect(rest.done).toEqual([2])
  })

  test('continues with the failed step', async () => {
    const fails = [async () => undefined, () => Promise.reject(new Error('disk full'))]
    await expect(bringToFormat(directory, fails)).rejects.toThrow('disk full')
    expect(await format()).toBe('2\n')
    const { done, migrations } = steps()
    await bringToFormat(directory, migrations)
    expect(done).toEqual([2])
  })

  test('refuses a newer format, naming both, without changes', async () => {
    await setFormat('3\n')
    await expect(bringToFormat(directory, steps().migrations.slice(1))).rejects.toThrow(
      'has format 3, but this program supports up to 2: use the newer version that wrote it',
    )
    expect(await format()).toBe('3\n')
  })

  test.each(['', '0\n', '1', '-1\n', 'x\n', '1\n1\n'])('refuses %j as damaged', async (text) => {
    await setFormat(text)
    await expect(bringToFormat(directory)).rejects.toThrow('is damaged')
    expect(await format()).toBe(text)
  })
})
