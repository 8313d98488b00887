import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend, ExecProcess } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'
import { fault } from '../errors.ts'
import { OutputTail } from '../program/run-program.ts'
import { failure } from './files.ts'
import { scriptWithPaths, shownPath, textFromBytes } from '../path-text.ts'
import * as scripts from './scripts.ts'

const EVERY_MS = 500
const MAX_LISTING_BYTES = 8 * 2 ** 20
const MAX_MESSAGE_BYTES = 4_096
/** Fields for `stat -c`: mode in hexadecimal, inode, size, time of change of the content and of the entry, path. */
const FIELDS = '%f %i %s|%y|%z|%n'
const RECORD = /^([0-9a-f]{1,8}) (\d{1,20}) (\d{1,19})\|([^|\n]{1,60})\|([^|\n]{1,60})\|\.\/([^]+)\n$/
/** Names of files that are being written by this server. */
const TEMPORARY = /(?:^|\/)\.[0-9a-f]{16}$/
const DIRECTORY = 0o040_000
const TYPE_MASK = 0o170_000

/** A change below a watched directory. */
export interface FileChange {
  readonly kind: 'create' | 'write' | 'remove' | 'rename' | 'chmod'
  /** Relative to the directory; a text as `path-text.ts` describes. */
  readonly path: string
}

/** A directory to watch. */
export interface WatchedDirectory {
  readonly path: string
  readonly isRecursive: boolean
  readonly user: string | undefined
}

interface Entry {
  readonly mode: number
  readonly inode: string
  readonly content: string
}

type Listing = ReadonlyMap<string, Entry>

/**
 * Watches a directory by listing it twice a second, which needs nothing that an image may lack and works on every file
 * system. Changes that cancel each other out within that time are not seen. The first yield is empty: from then on,
 * changes are seen. Ends when the signal aborts.
 *
 * @throws FILE_NOT_FOUND, FILE_DENIED, FILE_CONFLICT, and the backend's errors
 */
export async function* watchDirectory(
  backend: Backend,
  workspaceName: string,
  { path, isRecursive, user }: WatchedDirectory,
  signal: AbortSignal,
): AsyncGenerator<readonly FileChange[]> {
  // Unpredictable, so that no file name can look like the start of another record.
  const mark = `/${randomBytes(16).toString('hex')}/`
  const argv = scriptWithPaths(scripts.WATCH, [path, mark + FIELDS, mark, isRecursive ? 'yes' : ''])
  const process = await backend.exec(workspaceName, { argv, ...(user !== undefined && { user }) })
  const release = hangUpOnAbort(signal, process)
  try {
    const listings = readListings(process, path, mark)
    let before: Listing | undefined
    for await (const listing of listings) {
      if (signal.aborted) return
      const changes = before === undefined ? [] : changesBetween(before, listing)
      if (before === undefined || changes.length > 0) yield changes
      before = listing
      await delay(EVERY_MS, undefined, { signal }).catch(ignore('a wait that was aborted'))
    }
  } finally {
    release()
    await process.hangUp()
  }
}

/** Yields a listing at a time; the next is made when it is asked for. */
async function* readListings(process: ExecProcess, path: string, mark: string): AsyncGenerator<Listing> {
  process.stdin.on('error', () => undefined)
  const messages = new OutputTail(MAX_MESSAGE_BYTES)
  process.stderr.on('error', () => undefined).on('data', (chunk: Buffer) => messages.add(chunk))
  const end = `${mark}\n`
  let text = ''
  process.stdin.write('\n')
  for await (const chunk of process.stdout.setEncoding('latin1') as AsyncIterable<string>) {
    text += chunk
    if (text.length > MAX_LISTING_BYTES)
      throw fault(
        'FILE_CONFLICT',
        `${shownPath(path)} has too many entries to watch; watch a directory in it`,
      )
    if (!text.endsWith(end)) continue
    const listed = Buffer.from(text.slice(0, -end.length), 'latin1')
    yield parseListing(textFromBytes(listed), mark)
    text = ''
    process.stdin.write('\n')
  }
  const { status } = await process.exitStatus
  throw failure(path, status, messages)
}

/** Parses a listing; what comes from inside is untrusted, and anything else in it is ignored. */
function parseListing(text: string, mark: string): Listing {
  const entries = text.split(mark).flatMap((record): [string, Entry][] => {
    const [, mode = '', inode = '', size = '', modified = '', changed = '', path] = RECORD.exec(record) ?? []
    if (path === undefined || TEMPORARY.test(path)) return []
    const bits = Number.parseInt(mode, 16)
    // A directory's own time and size change with its entries.
    const content = (bits & TYPE_MASK) === DIRECTORY ? '' : `${size} ${modified} ${changed}`
    return [[path, { mode: bits, inode, content }]]
  })
  return new Map(entries)
}

/** Compares two listings of a directory. */
export function changesBetween(before: Listing, after: Listing): readonly FileChange[] {
  const added = new Map<string, string>()
  for (const [path, { inode }] of after) if (!before.has(path)) added.set(inode, path)
  const changes: FileChange[] = []
  for (const [path, { inode }] of before)
    if (!after.has(path)) changes.push({ kind: added.has(inode) ? 'rename' : 'remove', path })
  const moved = new Set([...before.values()].map(({ inode }) => inode))
  for (const [path, now] of after) {
    const was = before.get(path)
    if (was === undefined) {
      changes.push({ kind: 'create', path })
      if (now.content !== '' && !now.content.startsWith('0 ') && !moved.has(now.inode))
        changes.push({ kind: 'write', path })
    } else if (was.mode !== now.mode) changes.push({ kind: 'chmod', path })
    else if (was.content !== now.content || was.inode !== now.inode) changes.push({ kind: 'write', path })
  }
  return changes
}
