import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { messageOf } from '../../../../lib/errors/message.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { discard } from '../../../../lib/fs/trash.ts'
import { fault } from '../../../errors.ts'
import { isWorkspaceName, nameKey } from '../../../name.ts'

/** Larger files were not written by this server. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024

/** Returns the directory name for a workspace or snapshot; names that differ only in case are the same. */
export function keyOf(name: string): string {
  if (!isWorkspaceName(name)) throw new Error(`${JSON.stringify(name)} is not a valid name`)
  return nameKey(name)
}

/**
 * Returns the names of the subdirectories that can belong to a backend; empty when the directory is missing.
 */
export async function readKeys(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory).catch(ignoreMissing)
  return (entries ?? []).filter((key) => isWorkspaceName(key) && key === nameKey(key))
}

/** Result of reading a record: an empty, truncated or foreign file is unreadable, never absent (fault F8). */
export type RecordReading<T> =
  | { readonly is: 'valid'; readonly record: T }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly why: string }

/** Reads and validates a record. @param key the directory's name, which must match the record's */
export async function readRecord<T extends { readonly name: string }>(
  path: string,
  key: string,
  isRecord: (value: unknown) => value is T,
): Promise<RecordReading<T>> {
  try {
    return parseRecord(await readSmallFile(path), key, isRecord)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { is: 'absent' } : { is: 'unreadable', why: messageOf(error) }
  }
}

function parseRecord<T extends { readonly name: string }>(
  text: string,
  key: string,
  isRecord: (value: unknown) => value is T,
): RecordReading<T> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { is: 'unreadable', why: text.trim() === '' ? 'it is empty' : 'it is not valid JSON' }
  }
  if (!isRecord(value)) return { is: 'unreadable', why: 'its content is not valid' }
  if (value.name.toLowerCase() !== key) return { is: 'unreadable', why: 'it belongs to another name' }
  return { is: 'valid', record: value }
}

async function readSmallFile(path: string): Promise<string> {
  const stat = await lstat(path)
  if (!stat.isFile()) throw new Error(`${path} is not a regular file`)
  if (stat.size > MAX_RECORD_BYTES) throw new Error(`${path} is too large`)
  return readFile(path, 'utf8')
}

/**
 * Removes a directory, two levels below a root, and the files that belong in it. A directory with any other
 * file is kept and reported. Links in place of the directory or its parent are not followed (threat P1).
 */
export async function removeOwnFiles(directory: string, files: readonly string[]): Promise<void> {
  const stat = await lstat(directory).catch(ignoreMissing)
  if (stat === undefined) return
  if (!stat.isDirectory()) throw fault('BACKEND_ERROR', `${directory} is not a directory; remove it manually`)
  // An interrupted write leaves its temporary file behind.
  const isOurs = (name: string): boolean =>
    files.includes(name) || /^(\.creating|[a-z]+\.json)\.[0-9a-f]{12}\.tmp$/.test(name)
  try {
    if (!(await readdir(directory)).every(isOurs))
      throw new Error('it contains files that the server did not create')
    const parent = dirname(directory)
    await discard({ root: dirname(parent), parent: basename(parent) }, basename(directory))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw fault(
      'BACKEND_ERROR',
      `${directory} cannot be removed: ${messageOf(error)}; remove it manually`,
      error,
    )
  }
}
