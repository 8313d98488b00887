import { appendFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { followConsole } from '../../../../../src/workspace/backend/microvm/monitor/console-log.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

/** Follows a console and collects its lines. */
function follow(path: string, count: number) {
  const reader = new AbortController()
  const lines: string[] = []
  const ended = (async () => {
    for await (const line of followConsole(path, count, reader.signal)) lines.push(line)
  })()
  onTestFinished(async () => {
    reader.abort()
    await ended
  })
  return { lines, ended, leave: () => reader.abort() }
}

test('a followed console yields its last lines, then complete new ones, until its reader leaves', async () => {
  const path = join(tempDir(), 'console.log')
  writeFileSync(path, 'one\ntwo\nthree\n')
  const { lines, ended, leave } = follow(path, 2)
  await expect.poll(() => lines).toEqual(['two', 'three'])
  appendFileSync(path, '\u001B[32mfo')
  appendFileSync(path, 'ur\r\nfive')
  await expect.poll(() => lines).toEqual(['two', 'three', 'four'])
  appendFileSync(path, `${'x'.repeat(200_000)}\nsix\n`)
  await expect.poll(() => lines.length).toBe(5)
  expect([lines[3]?.length, lines[4]]).toEqual([4096, 'six'])
  leave()
  await ended
})

test('a followed console continues after a truncation', async () => {
  const path = join(tempDir(), 'console.log')
  writeFileSync(path, 'before\n'.repeat(100))
  const { lines } = follow(path, 1)
  await expect.poll(() => lines).toEqual(['before'])
  truncateSync(path, 0)
  await expect
    .poll(() => {
      appendFileSync(path, 'after\n')
      return lines.includes('after')
    })
    .toBe(true)
})
