import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { truncateLog } from '../../../../src/workspace/disk/prune/truncate-log.ts'
import { canMount, mountFileSystem } from '../../../support/files/file-systems.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** Appends numbered lines at about 10 MB/s until stopped, and reports how many. */
function startWriter(file: string) {
  const worker = new Worker(
    `const { appendFileSync, openSync, writeSync } = require('node:fs')
     const { workerData: file, parentPort } = require('node:worker_threads')
     const fd = openSync(file, 'a')
     let isTold = false
     parentPort.on('message', () => (isTold = true))
     let lines = 0
     const burst = () => {
       for (let i = 0; i < 1000; i++) writeSync(fd, 'line ' + String(lines++).padStart(94, '0') + '\\n')
       if (isTold) { parentPort.postMessage(lines); process.exit(0) }
       setTimeout(burst, 5)
     }
     burst()`,
    { eval: true, workerData: file },
  )
  return () =>
    new Promise<number>((resolve) => {
      worker.once('message', resolve)
      // oxlint-disable-next-line require-post-message-target-origin -- a thread has no origin
      worker.postMessage('stop')
    })
}

function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(/^line (\d{94})$/gm)].map(([, number]) => Number(number))
}

test.runIf(canMount).each(['ext4', 'xfs'] as const)(
  'P10 a log that is appended to at 10 MB/s loses no line when it is cut on %s',
  async (kind) => {
    const directory = mountFileSystem(kind)
    const file = join(directory, 'console.log')
    writeFileSync(file, '')
    const stop = startWriter(file)
    while (statSync(file).size < 2 * 2 ** 20) await new Promise(setImmediate)
    for (let cut = 0; cut < 20; cut++) {
      const { note } = await truncateLog(directory, 2 ** 20, true)
      expect(note).toBeUndefined()
      await new Promise(setImmediate)
    }
    const lines = await stop()
    const text = readFileSync(file, 'latin1')
    expect(text.includes('\0')).toBe(false)
    const numbers = numbersIn(text)
    // The last line exists, and none is missing after the first complete one.
    expect(numbers.at(-1)).toBe(lines - 1)
    expect(numbers).toHaveLength(lines - (numbers[0] ?? 0))
  },
)

test.runIf(canMount)(
  'P10 where a file system cannot remove the front of a file few lines are lost, and that is reported',
  async () => {
    const directory = mountFileSystem('btrfs')
    const file = join(directory, 'console.log')
    writeFileSync(file, '')
    const stop = startWriter(file)
    while (statSync(file).size < 2 * 2 ** 20) await new Promise(setImmediate)
    const before = statSync(file).size
    const { note, freed } = await truncateLog(directory, 2 ** 20, true)
    const lines = await stop()
    const text = readFileSync(file, 'latin1')
    expect(text.includes('\0')).toBe(false)
    expect(freed.logicalBytes).toBeGreaterThan(0)
    const numbers = new Set(numbersIn(text))
    expect(numbers.has(lines - 1)).toBe(true)
    const first = Math.ceil((before - 2 ** 20) / 100) + 1
    const lost = Array.from({ length: lines - first }, (_, i) => first + i).filter((n) => !numbers.has(n))
    expect(lost.length).toBeLessThan(20_000)
    expect(note).toMatch(/some lines may be lost/)
  },
)

test('an idle log is truncated to exactly its last bytes', async () => {
  const directory = tempDir()
  const content = Buffer.from(Array.from({ length: 30_000 }, (_, i) => String(i)).join('\n'))
  for (const tail of [0, 1, 4095, 4096, 4097, 100_000]) {
    writeFileSync(join(directory, 'console.log'), content)
    const { note } = await truncateLog(directory, tail, false)
    expect([note, readFileSync(join(directory, 'console.log'))]).toEqual([
      undefined,
      tail === 0 ? Buffer.alloc(0) : content.subarray(-tail),
    ])
  }
})

test('P10 a log behind a linked directory is not opened', async () => {
  const root = tempDir()
  mkdirSync(join(root, 'real'))
  const fd = openSync(join(root, 'real/console.log'), 'w')
  writeSync(fd, 'x'.repeat(1000))
  closeSync(fd)
  symlinkSync('real', join(root, 'demo'))
  await expect(truncateLog(join(root, 'demo'), 1, false)).rejects.toThrow(/ELOOP|ENOTDIR/)
  expect(statSync(join(root, 'real/console.log')).size).toBe(1000)
})
