import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineFaults } from '../lib/errors/fault.ts'
import { holdStateDir } from '../lib/fs/state-dir.ts'
import { removeInterruptedWrites, writeFileDurable } from '../lib/fs/write-durable.ts'
import type { Logger } from '../lib/log/logger.ts'

const stateFault = defineFaults({ STATE_DIR_IN_USE: 'conflict', STATE_DIR_UNUSABLE: 'invalid' })

/** Name of the directory with unfinished creations and deletions. */
export const MARKS_DIR = 'creating'
/** Name of the API token file that `hardened: true` creates. */
export const TOKEN_FILE = 'token'
/** Name of the bus token file that `hardened: true` creates. */
export const BUS_TOKEN_FILE = 'bus-token'
/** Name of the authorized keys file that `hardened: true` creates. */
export const KEYS_FILE = 'authorized_keys'
/** Name of the file with the users of a server with several. */
export const TEAM_FILE = 'team.json'
/** Name of the file with the SSH keys of all users. */
export const TEAM_KEYS_FILE = 'team_keys'
/** Name of the file with the extents that disk reports remember. */
export const EXTENTS_FILE = 'disk-extents'

/** Name of the file with what schedules have done. */
export const SCHEDULE_FILE = 'schedule.json'
/** Name of the file with the position up to which audit entries were sent. */
export const AUDIT_SENT_FILE = 'audit-sent'
/** Name of the file with the isolated networks of containers. */
export const NETWORKS_FILE = 'docker-networks.json'
/** Name of the file with what happened to workspaces. */
export const TIMELINE_FILE = 'timelines.jsonl'

/** A server's state directory, locked by one server at a time. */
export interface StateDir {
  readonly path: string
  /**
   * Identifies this server's containers and volumes among those of other servers on the same engine;
   * generated once.
   */
  readonly serverId: string
  readonly release: () => Promise<void>
}

/** Returns the root of the socket directories that are mounted into workspaces. */
export function mountedSocketRoot(stateDir: string): string {
  return join(stateDir, 'inside')
}

/**
 * Opens and locks the state directory, creating it on the first start.
 *
 * @throws STATE_DIR_IN_USE while another server has it locked (fault F34)
 * @throws STATE_DIR_UNUSABLE when it cannot be written or was written by a newer version
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
        'neither the native addon nor fs-ext is built, so the state directory is not locked against a second server',
      ),
    read: async () => {
      for (const directory of [path, join(path, MARKS_DIR)]) await removeInterruptedWrites(directory)
      return readServerId(join(path, 'server-id'))
    },
  })
  return { path, serverId, release }
}

async function readServerId(file: string): Promise<string> {
  try {
    const id = (await readFile(file, 'utf8')).trim()
    if (/^[0-9a-f-]{36}$/.test(id)) return id
    // With a new id, this server would not find its workspaces.
    throw stateFault(
      'STATE_DIR_UNUSABLE',
      `${file} is damaged; restore it, because it identifies this server's workspaces`,
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const id = randomUUID()
  await writeFileDurable(file, `${id}\n`, { mode: 0o600 })
  return id
}
