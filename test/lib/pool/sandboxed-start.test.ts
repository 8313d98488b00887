import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Pool } from '../../../src/lib/pool/pool.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'

const ROUNDS = rounds(12, 60)
const limits = { dataBytes: 2 ** 28, fileBytes: 2 ** 20, cpuSeconds: 10, processes: 64, openFiles: 64 }

/** Returns the command lines of processes that contain a directory. */
function processesOf(directory: string): readonly string[] {
  return readdirSync('/proc').flatMap((entry) => {
    try {
      const line = readFileSync(`/proc/${Number(entry)}/cmdline`, 'utf8')
      return line.includes(directory) ? [line.replaceAll('\0', ' ').slice(0, 80)] : []
    } catch {
      return []
    }
  })
}

test.runIf(process.platform === 'linux')(
  'a sandboxed pool that is closed at any moment of its start leaves no process',
  async () => {
    const directory = tempDir()
    for (let round = 0; round < ROUNDS; round++) {
      const sandbox = { writable: [directory], network: 'none', hidesProcesses: true, limits } as const
      const pool = new Pool({ name: 'start', maxThreads: 1, sandbox })
      pool.warm()
      await delay((15 * round) / ROUNDS)
      await pool.close()
    }
    await expect.poll(() => processesOf(directory)).toEqual([])
  },
)
