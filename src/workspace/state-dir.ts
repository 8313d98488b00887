import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineFaults } from '../lib/errors/fault.ts'
import { holdStateDir } from '../lib/fs/state-dir.ts'
import { writeFileDurable } from '../lib/fs/write-durable.ts'
import type { Logger } from '../lib/log/logger.ts'

const stateFault = defineFaults({ STATE_DIR_IN_USE: 'conflict', STATE_DIR_UNUSABLE: 'invalid' })

/** What `hardened: true` creates in it. */
export const TOKEN_FILE = 'token'
export const BUS_TOKEN_FILE = 'bus-token'
export const KEYS_FILE = 'authorized_keys'

/** A server's own directory, held by one server at a time. */
export interface StateDir {
  readonly path: string
  /** Tells this server's containers and volumes from those of others on the same engine; made once. */
  readonly serverId: string
  readonly release: () => Promise<void>
}

/** Where in it the directories are that workspaces have mounted. */
export function insideRoot(stateDir: string): string {
  return join(stateDir, 'inside')
}

/**
 * Opens the state directory, making it on the first start.
 *
 * @throws STATE_DIR_IN_USE while another server holds it (fault F34) and STATE_DIR_UNUSABLE when it cannot be written, or a newer version wrote it
 */
export async function openStateDir(path: string, logger: Logger): Promise<StateDir> {
  const { content: serverId, release } = await holdStateDir(path, {
    taken: () =>
      stateFault(
        'STATE_DIR_IN_USE',
        `another server uses the state directory ${path}; stop it, or give this one its own state_dir`,
      ),
    unguarded: () =>
      logger.warn(
        'neither the native addon nor fs-ext is built: nothing keeps a second server from the same state directory',
      ),
    read: () => readServerId(join(path, 'server-id')),
  })
  return { path, serverId, release }
}

async function readServerId(file: string): Promise<string> {
  try {
    const id = (await readFile(file, 'utf8')).trim()
    if (/^[0-9a-f-]{36}$/.test(id)) return id
    // A new id would make this server blind to all its workspaces.
    throw stateFault(
      'STATE_DIR_UNUSABLE',
      `${file} is damaged; restore it, it marks this server's workspaces`,
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const id = randomUUID()
  await writeFileDurable(file, `${id}\n`, { mode: 0o600 })
  return id
}
