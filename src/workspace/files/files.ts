import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import type { Backend, ExecProcess } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'
import { fault } from '../errors.ts'
import { checkArgument } from '../arguments.ts'
import { OutputTail, runToEnd } from '../program/run-program.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import { type FileEntry, parseStat, STAT_FIELDS } from './entry.ts'
import { bytesFromText, scriptWithPaths, shownPath, textFromBytes } from '../path-text.ts'
import type { OpenWrites } from '../lifecycle/open-writes.ts'
import * as scripts from './scripts.ts'

const MAX_LIST_BYTES = 16 * 2 ** 20
const MAX_MESSAGE_BYTES = 4_096
const MAX_SHOWN = 200
/** The line that a script prints before content. */
const READY = 'ready\n'

/** A file to write. */
export interface FileToWrite {
  readonly path: string
  /** Undefined if only the end of the content shows it. */
  readonly bytes: number | undefined
  /** Permission bits; undefined keeps those of an existing file. */
  readonly mode: number | undefined
  /** Whether missing directories of its path are created. */
  readonly createsParents: boolean
}

/** A part of a file; without `length` up to its end. */
export interface FileRange {
  readonly offset: number
  readonly length: number | undefined
}

/** The workspace that has the files. */
export interface FilesPlace {
  readonly backend: Backend
  /** The workspace's name. */
  readonly name: string
  readonly writes: OpenWrites
}

/**
 * Files of a running workspace, as its user sees them. All work is done by programs inside, so that links,
 * permissions and mounts have their usual meaning and nothing leads out. Paths must be normalized.
 *
 * @throws FILE_NOT_FOUND, FILE_DENIED, FILE_CONFLICT, and the backend's errors
 */
export class WorkspaceFiles {
  readonly #place: FilesPlace
  /** Aborts when the client disconnects, which ends the program inside. */
  readonly #gone: AbortSignal
  readonly #user: string | undefined

  /** @param user defaults to the workspace's user */
  constructor(place: FilesPlace, gone: AbortSignal, user?: string) {
    this.#place = place
    this.#gone = gone
    this.#user = user
  }

  /** Returns the content of a regular file. The stream fails if the file cannot be read to its end. */
  read(path: string, { offset, length }: FileRange): Promise<Readable> {
    return this.#stream(path, scripts.READ, [path, String(offset + 1), String(length ?? '')])
  }

  /** Returns the content of a directory as a tar archive. The stream fails if a file cannot be read. */
  readArchive(path: string): Promise<Readable> {
    return this.#stream(path, scripts.PACK, [path])
  }

  /**
   * Extracts a tar archive into a directory. The archive is untrusted; files extracted before a failure remain.
   *
   * @throws INVALID_ARCHIVE when it is not a complete tar archive
   */
  async extractArchive(path: string, createsDirectory: boolean, archive: Readable): Promise<void> {
    await this.#run(path, scripts.UNPACK, [path, createsDirectory ? 'yes' : ''], archive)
  }

  /** Writes a file as a whole: until all bytes have arrived, the old content stays. */
  async write({ path, bytes, mode, createsParents }: FileToWrite, content: Readable): Promise<void> {
    const temporary = `.${randomBytes(8).toString('hex')}`
    // Unpredictable, so that no content that was cut off can end with it.
    const mark = bytes === undefined ? randomBytes(16).toString('hex') : ''
    const args = [
      path,
      String(bytes ?? ''),
      mode?.toString(8) ?? '',
      temporary,
      createsParents ? 'yes' : '',
      mark,
    ]
    const { writes, name } = this.#place
    const process = await writes.start(name, () => this.#start(scripts.WRITE, args))
    await this.#follow(path, process, mark === '' ? content : withEnd(content, mark))
  }

  /** Lists a directory, sorted by name. */
  async list(path: string): Promise<readonly FileEntry[]> {
    // Unpredictable, so that no file name can look like the start of another record.
    const mark = `/${randomBytes(16).toString('hex')}/`
    const output = await this.#run(path, scripts.LIST, [path, mark + STAT_FIELDS])
    const entries = output.split(mark).flatMap((line) => parseStat(line) ?? [])
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  async stat(path: string): Promise<FileEntry> {
    const entry = parseStat(await this.#run(path, scripts.STAT, [path, STAT_FIELDS]))
    if (entry === undefined) throw fault('BACKEND_ERROR', `stat of ${shownPath(path)} printed something else`)
    return entry
  }

  /** Creates a directory and the missing ones above it. */
  async createDirectory(path: string): Promise<void> {
    await this.#run(path, scripts.CREATE_DIRECTORY, [path])
  }

  async move(from: string, to: string, replaces: boolean): Promise<void> {
    await this.#run(from, scripts.MOVE, [from, to, replaces ? 'yes' : ''])
  }

  /** Removes a file, a link or an empty directory; with `isRecursive` also a full one. */
  async remove(path: string, isRecursive: boolean): Promise<void> {
    await this.#run(path, scripts.REMOVE, [path, isRecursive ? 'yes' : ''])
  }

  /** Starts a script that prints `ready` before its output, and returns its output. */
  async #stream(path: string, script: string, args: readonly string[]): Promise<Readable> {
    const process = await this.#start(script, args)
    process.stdin.on('error', () => undefined).end()
    const messages = new OutputTail(MAX_MESSAGE_BYTES)
    process.stderr.on('data', (chunk: Buffer) => messages.add(chunk))
    const release = hangUpOnAbort(this.#gone, process)
    const check = async (): Promise<void> => {
      const { status } = await process.exitStatus
      if (status !== 0) throw failure(path, status, messages)
    }
    const first = await firstBytes(process.stdout, READY.length)
    if (first.toString() !== READY) {
      await check()
      throw failure(path, 1, messages)
    }
    const content = async function* (): AsyncGenerator<Buffer> {
      try {
        yield* process.stdout as AsyncIterable<Buffer>
        await check()
      } finally {
        release()
        await process.hangUp()
      }
    }
    return Readable.from(content(), { objectMode: false })
  }

  async #run(
    path: string,
    script: string,
    args: readonly string[],
    input: string | Readable = '',
  ): Promise<string> {
    return this.#follow(path, await this.#start(script, args), input)
  }

  async #follow(path: string, process: ExecProcess, input: string | Readable): Promise<string> {
    const output = new OutputTail(MAX_LIST_BYTES)
    const messages = new OutputTail(MAX_MESSAGE_BYTES)
    const options = { input, timeoutMs: undefined, gone: this.#gone }
    const { status } = await runToEnd(process, options, (name, chunk) => {
      ;(name === 'stdout' ? output : messages).add(chunk)
    })
    if (status !== 0) throw failure(path, status, messages)
    const { bytes, droppedBytes } = output.end()
    if (droppedBytes > 0)
      throw fault(
        'FILE_CONFLICT',
        `${shownPath(path)} has too many entries to list; use a program inside the workspace`,
      )
    return textFromBytes(bytes)
  }

  #start(script: string, args: readonly string[]): Promise<ExecProcess> {
    const user = this.#user
    const { backend, name } = this.#place
    return backend.exec(name, {
      argv: scriptWithPaths(script, args),
      ...(user !== undefined && { user }),
    })
  }
}

/**
 * Returns the absolute form of a path, a text as `path-text.ts` describes; a relative one starts at the workspace's
 * directory.
 *
 * @throws INVALID_REQUEST when no program could use it
 */
export function parsePath(path: string): string {
  if (path === '') throw fault('INVALID_REQUEST', 'the path is empty')
  checkArgument('path', path)
  // Escapes that together are valid UTF-8 become its text, so that each path has one form.
  return posix.resolve(WORKSPACE_DIR, textFromBytes(bytesFromText(path)))
}

/** Returns the error of a script's exit status. */
export function failure(fullPath: string, status: number, messages: OutputTail) {
  const lines = messages.end().bytes.toString().split('\n').filter(Boolean)
  // Tools end their messages with the system's reason.
  const reason = lines.at(-1)?.split(': ').at(-1)?.slice(0, MAX_SHOWN)
  const all = shownPath(fullPath)
  const path = all.length > MAX_SHOWN ? `${all.slice(0, MAX_SHOWN)}…` : all
  if (status === scripts.NOT_FOUND) return fault('FILE_NOT_FOUND', `${path} does not exist in the workspace`)
  if (status === scripts.DENIED)
    return fault('FILE_DENIED', `the workspace's user has no permission for this: ${path}`)
  if (status === scripts.INVALID)
    return fault('INVALID_ARCHIVE', `the body is not a complete tar archive: ${reason ?? 'unreadable'}`)
  if (status === scripts.CONFLICT) return fault('FILE_CONFLICT', `${path}: ${reason ?? 'conflict'}`)
  return fault('BACKEND_ERROR', `${path}: ${reason ?? `a program inside exited with status ${status}`}`)
}

/** Adds a mark behind content of unknown length; content that breaks off has none. */
function withEnd(content: Readable, mark: string): Readable {
  return Readable.from(
    (async function* () {
      yield* content as AsyncIterable<Buffer>
      yield Buffer.from(mark)
    })(),
    { objectMode: false },
  )
}

/** Reads a number of bytes, or fewer if the stream ends before, and leaves the rest in it. */
async function firstBytes(stream: Readable, count: number): Promise<Buffer> {
  let read = Buffer.alloc(0)
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    read = Buffer.concat([read, chunk])
    if (read.length < count) continue
    stream.unshift(read.subarray(count))
    break
  }
  return read.subarray(0, count)
}
