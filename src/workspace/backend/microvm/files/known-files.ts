import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { messageOf } from '../../../../lib/errors/message.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { discard } from '../../../../lib/fs/trash.ts'
import { fault } from '../../../errors.ts'
import { isWorkspaceName, nameKey } from '../../../name.ts'

/** Larger ones are none of ours. */
const MAX_RECORD_BYTES = 4 * 1024 * 1024

/** What a directory of that name is called; names that differ in case alone are one. */
export function keyOf(name: string): string {
  if (!isWorkspaceName(name)) throw new Error(`${JSON.stringify(name)} is no name`)
  return nameKey(name)
}

/** The directories in one that can be of ours, by their names; none where there is no such directory. */
export async function readKeys(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory).catch(ignoreMissing)
  return (entries ?? []).filter((key) => isWorkspaceName(key) && key === nameKey(key))
}

/** A file as found: one that is empty, cut or something else is unreadable, never absent (fault F8). */
export type RecordReading<T> =
  | { readonly is: 'known'; readonly record: T }
  | { readonly is: 'absent' }
  | { readonly is: 'unreadable'; readonly why: string }

/** @param key the directory's name, which decides whose it is */
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
    return { is: 'unreadable', why: text.trim() === '' ? 'it is empty' : 'it is no JSON' }
  }
  if (!isRecord(value)) return { is: 'unreadable', why: 'it is not what the server writes' }
  if (value.name.toLowerCase() !== key) return { is: 'unreadable', why: 'it is of another name' }
  return { is: 'known', record: value }
}

async function readSmallFile(path: string): Promise<string> {
  const stat = await lstat(path)
  if (!stat.isFile()) throw new Error(`${path} is no file`)
  if (stat.size > MAX_RECORD_BYTES) throw new Error(`${path} is larger than the server writes it`)
  return readFile(path, 'utf8')
}

/**
 * Removes a directory, two below a root, and the files that belong in it, and no others: what else someone put there keeps it, and
 * is told. A link in its place or its parent's is not followed (threat P1).
 */
export async function removeKnown(directory: string, files: readonly string[]): Promise<void> {
  const stat = await lstat(directory).catch(ignoreMissing)
  if (stat === undefined) return
  if (!stat.isDirectory()) throw fault('BACKEND_ERROR', `${directory} is no directory: remove it by hand`)
  // A write that was cut short leaves its temporary file.
  const isOurs = (name: string): boolean =>
    files.includes(name) || /^(\.creating|[a-z]+\.json)\.[0-9a-f]{12}\.tmp$/.test(name)
  try {
    if (!(await readdir(directory)).every(isOurs)) throw new Error('it holds files that are not the server’s')
    const parent = dirname(directory)
    await discard({ root: dirname(parent), parent: basename(parent) }, basename(directory))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw fault(
      'BACKEND_ERROR',
      `${directory} cannot be removed: ${messageOf(error)}; remove it by hand`,
      error,
    )
  }
}
