import { createHash, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { defineFaults } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { holdStateDir } from '../../lib/fs/state-dir.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'

const stateFault = defineFaults({ SUPERVISOR_RUNS_ALREADY: 'conflict' })

/** A supervisor's state directory, locked by one at a time. */
export interface StateDir {
  readonly path: string
  /** Mark of everything started from this directory; created once, so that later supervisors recognize it. */
  readonly instance: string
  readonly release: () => Promise<void>
}

/** Returns the state directory of a configuration file: `NAME-HASH` below `~/.supervisor/state`. */
export function stateDirOf(home: string, configFile: string): string {
  const hash = createHash('sha256').update(configFile).digest('hex').slice(0, 12)
  const name = basename(dirname(configFile)).replaceAll(/[^A-Za-z0-9._-]/g, '_')
  return join(home, '.supervisor', 'state', `${name}-${hash}`)
}

/**
 * Opens the directory, creating it at the first start.
 *
 * @throws SUPERVISOR_RUNS_ALREADY while another supervisor uses it (fault F34), and STATE_DIR_UNUSABLE when it is not writable or has a newer format
 */
export async function openStateDir(path: string, warn: (message: string) => void): Promise<StateDir> {
  const { content: instance, release } = await holdStateDir(path, {
    taken: () =>
      stateFault(
        'SUPERVISOR_RUNS_ALREADY',
        `another supervisor is running for this configuration, with ${path}; stop it with "supervisor down"`,
      ),
    unguarded: () =>
      warn(
        'neither the native addon nor fs-ext is built: a second supervisor could use the same state directory',
      ),
    read: () => readInstance(join(path, 'instance'), warn),
  })
  return { path, instance, release }
}

async function readInstance(file: string, warn: (message: string) => void): Promise<string> {
  const found = await textOf(file, warn)
  if (found !== undefined && /^[0-9a-f-]{36}\n$/.test(found)) return found.trim()
  const instance = randomUUID()
  await writeFileDurable(file, `${instance}\n`, { mode: 0o600 })
  return instance
}

async function textOf(file: string, warn: (message: string) => void): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8').catch(ignoreMissing)
  } catch (error) {
    warn(`${file} cannot be read: ${messageOf(error)}; programs of the earlier supervisor are not recognized`)
    return undefined
  }
}
