import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WRITE } from '../../../src/workspace/files/scripts.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Enough for a shell that leaves a file in one of fifty cases. */
const RUNS = 150
/** The script ends within this time after its input. */
const LONGEST_MS = 6

test.each([['dash'], ['bash']])(
  'an upload of which the client leaves at any moment leaves no file, in %s',
  async (shell) => {
    const directory = tempDir()
    for (let run = 0; run < RUNS; run++) {
      const temporary = `.upload-${run}`
      const program = spawn(shell, ['-c', WRITE, 'sh', join(directory, 'file'), '5', '', temporary, ''], {
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      const ended = once(program, 'exit')
      program.stdin.write('abc')
      await waitFor('the upload', () => Promise.resolve(existsSync(join(directory, temporary))))
      program.stdin.end()
      await delay((LONGEST_MS * run) / RUNS)
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
