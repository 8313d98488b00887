import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WRITE } from '../../../src/workspace/files/scripts.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** The script ends within this time after its input. */
const LONGEST_MS = 6

// Enough for a shell that leaves a file in one of fifty cases; bash is slow.
test.each([
  ['dash', 150],
  ['bash', 50],
])(
  'an upload of which the client leaves at any moment leaves no file, in %s',
  { tags: ['long'] },
  async (shell, runs) => {
    const directory = tempDir()
    for (let run = 0; run < runs; run++) {
      const temporary = `.upload-${run}`
      const program = spawn(shell, ['-c', WRITE, 'sh', join(directory, 'file'), '5', '', temporary, ''], {
        detached: true,
        stdio: ['pipe', 'ignore', 'pipe'],
      })
      const ended = once(program, 'exit')
      program.stdin.write('abc')
      await waitFor('the upload', () => Promise.resolve(existsSync(join(directory, temporary))))
      program.stdin.end()
      // In half of the runs, the client is so far away that a message cannot be written.
      if (run % 2 === 0) program.stderr.destroy()
      await delay((LONGEST_MS * run) / runs)
      try {
        process.kill(-(program.pid ?? 0), 'SIGHUP')
      } catch {
        // It has ended already.
      }
      await ended
    }
    expect(readdirSync(directory)).toEqual([])
  },
)

test.each([
  ['all of it', 'content\nMARK', 'content\n'],
  ['nothing but the mark', 'MARK', ''],
  ['a mark in it', 'MARKcontentMARK', 'MARKcontent'],
  ['nothing', '', undefined],
  ['a part', 'content', undefined],
  ['a part of the mark', 'contentMAR', undefined],
])('content of unknown length replaces a file when %s has arrived', (_what, input, content) => {
  const directory = tempDir()
  const file = join(directory, 'file')
  writeFileSync(file, 'old')
  const { status } = spawnSync('sh', ['-c', WRITE, 'sh', file, '', '', '.temporary', '', 'MARK'], { input })
  expect(status).toBe(content === undefined ? 1 : 0)
  expect(readFileSync(file, 'utf8')).toBe(content ?? 'old')
  expect(readdirSync(directory)).toEqual(['file'])
})
