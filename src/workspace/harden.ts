import { readdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ignoreMissing } from '../lib/fs/ignore-missing.ts'
import { makeDirs } from '../lib/fs/make-dirs.ts'
import { openToken } from '../lib/fs/token-file.ts'
import { writeFileDurable } from '../lib/fs/write-durable.ts'
import type { WorkspaceConfig } from './config.ts'
import { fault } from './errors.ts'
import { BUS_TOKEN_FILE, KEYS_FILE, TOKEN_FILE } from './state-dir.ts'

const HEADER =
  "# The public keys of the server's user, rewritten at each start. To use other keys, set ssh.authorized_keys.\n"

/**
 * Creates the files that `hardened: true` requires and the configuration does not name: the API's token, which
 * `team.enabled` requires as well, the authorized keys, and the bus's token.
 *
 * @param home the home directory of the server's user
 * @throws INVALID_REQUEST when that user has no public key
 * @throws TOKEN_FILE_UNUSABLE when a token file cannot be used
 */
export async function harden(
  { stateDir, http, ssh, bus, hardened, team }: WorkspaceConfig,
  home = homedir(),
): Promise<void> {
  const isDefaultToken = http.tokenFile === join(stateDir, TOKEN_FILE)
  if ((hardened || team.enabled) && isDefaultToken) await openToken(join(stateDir, TOKEN_FILE))
  if (!hardened) return
  if (ssh.authorizedKeys === join(stateDir, KEYS_FILE)) await writeKeys(ssh.authorizedKeys, stateDir, home)
  if (bus.tokenFile === join(stateDir, BUS_TOKEN_FILE)) await openToken(bus.tokenFile)
}

async function writeKeys(file: string, stateDir: string, home: string): Promise<void> {
  const directory = join(home, '.ssh')
  const names = ((await readdir(directory).catch(ignoreMissing)) ?? []).filter((name) =>
    name.endsWith('.pub'),
  )
  const keys = await Promise.all(names.toSorted().map((name) => readFile(join(directory, name), 'utf8')))
  if (keys.length === 0)
    throw fault(
      'INVALID_REQUEST',
      `hardened: true admits the keys of the server's user, but ${directory} contains no public key; run ssh-keygen, or set ssh.authorized_keys`,
    )
  makeDirs(stateDir, 0o700)
  await writeFileDurable(file, HEADER + keys.map((key) => `${key.trim()}\n`).join(''), { mode: 0o600 })
}
