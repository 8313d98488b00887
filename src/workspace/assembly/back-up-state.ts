import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import { pipeline } from 'node:stream/promises'
import { PassThrough } from 'node:stream'
import { ignore } from '../../lib/errors/ignore.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { tryLock } from '../../lib/fs/file-lock.ts'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { encodeTarFile, TAR_END } from '../../lib/tar/encode-header.ts'
import { readTar } from '../../lib/tar/read-tar.ts'
import { fault } from '../errors.ts'
import { BUS_TOKEN_FILE, KEYS_FILE, TEAM_FILE, TIMELINE_FILE, TOKEN_FILE } from '../state-dir.ts'

const SERVER_ID = 'server-id'
/** Files that a server cannot make again, if they exist. The last one makes a directory that of a server. */
const FILES = [
  'format',
  'ssh_host_ed25519_key',
  TOKEN_FILE,
  BUS_TOKEN_FILE,
  KEYS_FILE,
  TEAM_FILE,
  'egress-key',
  'docker-images.json',
  TIMELINE_FILE,
  SERVER_ID,
] as const
const SETTINGS = 'settings'
const SETTINGS_FILE = /^settings\/[a-z0-9-]{1,63}\.json$/
const MAX_FILE_BYTES = 64 * 2 ** 20
const MAX_FILES = 100_000

const gzipped = promisify(gzip)

/**
 * Writes a server's identity, users, tokens, keys and settings to an archive that only its owner can read. The server may
 * run: each file is complete at any time.
 *
 * @returns the number of files
 * @throws INVALID_REQUEST when the directory is not that of a server, and BACKEND_ERROR when a file cannot be read or written
 */
export async function backUpState(stateDir: string, file: string): Promise<number> {
  const settings = (await readdir(join(stateDir, SETTINGS)).catch(ignoreMissing)) ?? []
  const names = [
    ...settings.map((name) => `${SETTINGS}/${name}`).filter((name) => SETTINGS_FILE.test(name)),
    ...FILES,
  ]
  const entries: Buffer[] = []
  for (const name of names) {
    const content = await readFile(join(stateDir, name)).catch(ignoreMissing)
    if (content === undefined) {
      if (name === SERVER_ID)
        throw fault('INVALID_REQUEST', `${stateDir} is not the state directory of a server; set state_dir`)
      continue
    }
    if (content.length > MAX_FILE_BYTES) {
      // It only explains states.
      if (name === TIMELINE_FILE) continue
      throw fault('BACKEND_ERROR', `${join(stateDir, name)} is too large to be restored; shrink it`)
    }
    const { mtimeMs } = await lstat(join(stateDir, name))
    entries.push(encodeTarFile(name, content, mtimeMs))
  }
  const archive = await gzipped(Buffer.concat([...entries, TAR_END]))
  try {
    await writeFileDurable(file, archive, { mode: 0o600 })
  } catch (error) {
    throw fault('BACKEND_ERROR', `the backup cannot be written: ${messageOf(error)}`, error)
  }
  return entries.length
}

/**
 * Restores a backup to a state directory without a server. A restore that was interrupted can be repeated.
 *
 * @returns the number of files
 * @throws INVALID_ARCHIVE when the file is not a complete backup; nothing is then changed
 * @throws INVALID_REQUEST when the directory has a server already
 */
export async function restoreState(file: string, stateDir: string): Promise<number> {
  const files = await readBackup(file)
  makeDirs(stateDir, 0o700)
  const release = await tryLock(join(stateDir, 'lock'), () => undefined)
  const isServers = (await lstat(join(stateDir, SERVER_ID)).catch(ignoreMissing)) !== undefined
  try {
    if (release === 'taken' || isServers)
      throw fault(
        'INVALID_REQUEST',
        `${stateDir} already belongs to a server; stop it and move the directory away, or restore to another state_dir`,
      )
    makeDirs(join(stateDir, SETTINGS), 0o700)
    for (const [name, content] of files)
      await writeFileDurable(join(stateDir, name), content, { mode: 0o600 })
  } finally {
    if (release !== 'taken') await release()
  }
  return files.size
}

/** Reads an untrusted backup; returns its files in the order in which they are restored. */
async function readBackup(file: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  try {
    const tar = new PassThrough()
    const reading = pipeline(createReadStream(file), createGunzip(), tar)
    reading.catch(ignore('reading the archive fails as well'))
    for await (const { entry, content } of readTar(tar as AsyncIterable<Buffer>)) {
      const { path, type, size } = entry
      const isKnown = SETTINGS_FILE.test(path) || FILES.some((name) => name === path)
      if (!isKnown || type !== 'file') throw new Error(`it contains "${path}", which no backup has`)
      if (size > MAX_FILE_BYTES || files.size >= MAX_FILES) throw new Error('it is too large')
      const chunks: Buffer[] = []
      for await (const chunk of content) chunks.push(chunk)
      files.set(path, Buffer.concat(chunks))
    }
    await reading
  } catch (error) {
    if (isFault(error)) throw error
    throw fault('INVALID_ARCHIVE', `${file} is not a backup of a server: ${messageOf(error)}`, error)
  }
  const id = files.get(SERVER_ID)
  if (id === undefined) throw fault('INVALID_ARCHIVE', `${file} is not a complete backup of a server`)
  files.delete(SERVER_ID)
  return files.set(SERVER_ID, id)
}
