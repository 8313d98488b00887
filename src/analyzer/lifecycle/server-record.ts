import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { makeDirs } from '../../lib/fs/make-dirs.ts'
import { processIdentity } from '../../lib/process/process-identity.ts'
import { fault } from '../errors.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import type { Static } from 'typebox'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

const recordSchema = Type.Object({
  ...processIdentity,
  host: Type.String(),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** Sent as a bearer token. */
  token: Type.String(),
  projectPath: Type.String(),
  mode: Type.String(),
  watch: Type.Boolean(),
  /** Class folders that were named when it was started. */
  classes: Type.Optional(Type.Array(Type.String())),
  version: Type.String(),
  /** RFC 3339. */
  startedAt: Type.String(),
})

/** Record of a running server for its user's commands. */
export type ServerRecord = Readonly<Static<typeof recordSchema>>

/**
 * Returns the private directory of the user's server records (threat A8): below XDG_RUNTIME_DIR, else in the
 * system's temporary directory.
 */
function runtimeDir(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const base = environment['XDG_RUNTIME_DIR']
  const path =
    base === undefined || base === '' ? join(tmpdir(), `analyzer-${userInfo().uid}`) : join(base, 'analyzer')
  makeDirs(path, 0o700)
  const stat = lstatSync(path)
  if (!stat.isDirectory() || stat.uid !== userInfo().uid) {
    throw fault('SERVER_ERROR', `${path} is not a directory that you own; remove it or set XDG_RUNTIME_DIR`)
  }
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700)
  return path
}

/** Returns the path of a project's server record. */
export function recordFile(projectPath: string): string {
  return join(runtimeDir(), `${createHash('sha256').update(projectPath).digest('hex').slice(0, 24)}.json`)
}

/** Writes a server's record. */
export async function writeRecord(record: ServerRecord): Promise<void> {
  await writeFileDurable(recordFile(record.projectPath), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

const CHECK_MS = 1_000

/**
 * Rewrites this server's record whenever it is damaged or deleted: without it no command finds the server,
 * and none can start another. Returns a function that stops this.
 */
export function maintainRecord(record: ServerRecord, onError: (error: unknown) => void): () => void {
  const file = recordFile(record.projectPath)
  const restore = (): void => {
    // The whole folder is deleted at the end of the user's session.
    if (existsSync(dirname(file)) && readRecord(file)?.pid !== record.pid) writeRecord(record).catch(onError)
  }
  const timer = setInterval(restore, CHECK_MS).unref()
  return () => clearInterval(timer)
}

/** Reads a record, or returns undefined if the file is missing or invalid. */
export function readRecord(file: string): ServerRecord | undefined {
  try {
    return parseJson(recordSchema, readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** Returns the paths of all records of this user. */
export function allRecordFiles(): readonly string[] {
  const directory = runtimeDir()
  return readdirSync(directory)
    .filter((file) => file.endsWith('.json'))
    .map((file) => join(directory, file))
}

/** Returns the recorded project that contains a folder, even if the folder no longer exists. */
export function findRecordedProject(folder: string): string | undefined {
  return allRecordFiles()
    .map((file) => readRecord(file)?.projectPath)
    .find((project) => project !== undefined && (folder === project || folder.startsWith(`${project}${sep}`)))
}

/** Deletes a record unless another server has replaced it. */
export function removeRecord(file: string, pid: number): void {
  if ((readRecord(file)?.pid ?? pid) === pid) rmSync(file, { force: true })
}
