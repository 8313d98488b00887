import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'

const CHUNK_BYTES = 256 * 1024
/** Bytes before a position by which it is recognized: more than a digest. */
const TAIL_BYTES = 80

/** A place in an audit file, which is recognized under any name. */
export interface Position {
  readonly offset: number
  /** The bytes before it, one character each. */
  readonly tail: string
}

/** Complete lines, and the position after them. */
export interface Lines {
  readonly lines: readonly string[]
  readonly position: Position
}

const BEGINNING: Position = { offset: 0, tail: '' }

/**
 * Reads the lines of an audit file that others append to and rotate, by renaming or copying it, any number of times: the files
 * whose names begin with its name are read to their ends, in the order of their last change.
 */
export class EntryReader {
  readonly #path: string
  #handle: FileHandle | undefined
  #position: Position

  /** @param position where to continue, by default at the beginning */
  constructor(path: string, position: Position = BEGINNING) {
    this.#path = path
    this.#position = position
  }

  /** Returns the next lines, at most `most`; undefined at the end. The same ones are returned until `advance`. */
  async next(most: number): Promise<Lines | undefined> {
    for (;;) {
      const found = await this.#read(most)
      if (found !== undefined) return found
      const next = await this.#following()
      if (next === undefined) return undefined
      // A writer that opened the file before it was renamed may have written since.
      const late = await this.#read(most)
      if (late !== undefined) {
        await next.close()
        return late
      }
      await this.close()
      this.#handle = next
      this.#position = BEGINNING
    }
  }

  /** Continues after lines that were returned. */
  advance({ position }: Lines): void {
    this.#position = position
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }

  async #read(most: number): Promise<Lines | undefined> {
    const bytes =
      (this.#handle && (await readAt(this.#handle, this.#position))) ??
      // A file that was copied and truncated is continued in the copy.
      (await this.#readElsewhere())
    if (bytes === undefined) return undefined
    let end = 0
    const lines: string[] = []
    for (let at = bytes.indexOf('\n'); at >= 0 && lines.length < most; at = bytes.indexOf('\n', end)) {
      lines.push(bytes.toString('utf8', end, at))
      end = at + 1
    }
    // An entry has at most 4 KiB, so this is none.
    if (end === 0 && bytes.length === CHUNK_BYTES) end = bytes.length
    if (end === 0) return undefined
    const tail = bytes.toString('latin1', Math.max(0, end - TAIL_BYTES), end)
    return { lines, position: { offset: this.#position.offset + end, tail } }
  }

  async #readElsewhere(): Promise<Buffer | undefined> {
    await this.close()
    this.#handle = await this.#find()
    return this.#handle && readAt(this.#handle, this.#position)
  }

  /** Opens the file with the position; without one, begins with the first. */
  async #find(): Promise<FileHandle | undefined> {
    const files = await this.#openAll()
    let found = -1
    if (this.#position !== BEGINNING)
      for (const [at, { handle }] of files.entries())
        if ((await readAt(handle, this.#position)) !== undefined) found = at
    if (found < 0) this.#position = BEGINNING
    return keepOnly(files, Math.max(0, found))
  }

  /** Opens the file that follows the current one; undefined if that is the last. */
  async #following(): Promise<FileHandle | undefined> {
    const current = await this.#handle?.stat({ bigint: true })
    const isCurrent = (file: Identity): boolean => current !== undefined && isSame(file, current)
    // The usual case, after each entry.
    if (isCurrent(await stat(this.#path, { bigint: true }))) return undefined
    const files = await this.#openAll()
    const at = files.findIndex(isCurrent)
    // A file that was deleted after it was read is followed by the first that changed later.
    const next = at < 0 ? files.findIndex(({ mtimeNs }) => mtimeNs > (current?.mtimeNs ?? 0n)) : at + 1
    return keepOnly(files, next)
  }

  /** Opens the file and the rotated ones, in the order of their last change; the file itself is the last. */
  async #openAll(): Promise<readonly OpenFile[]> {
    for (;;) {
      const opened: OpenFile[] = []
      let isComplete = false
      try {
        isComplete = await this.#openInto(opened)
      } finally {
        if (!isComplete) await keepOnly(opened, -1)
      }
      const [current, ...rotated] = opened
      if (isComplete && current !== undefined)
        return [...rotated.toSorted((a, b) => (a.mtimeNs < b.mtimeNs ? -1 : 1)), current]
    }
  }

  /** Opens the file, then the rotated ones; returns false if one was renamed meanwhile, and may have been left out. */
  async #openInto(opened: OpenFile[]): Promise<boolean> {
    const current = await openFile(this.#path)
    opened.push(current)
    const directory = dirname(this.#path)
    const name = basename(this.#path)
    for (const each of await readdir(directory)) {
      if (!each.startsWith(`${name}.`) && !each.startsWith(`${name}-`)) continue
      const file = await openFile(join(directory, each)).catch(ignoreMissing)
      if (file === undefined) return false
      opened.push(file)
    }
    const now = await stat(this.#path, { bigint: true }).catch(ignoreMissing)
    return now !== undefined && isSame(current, now)
  }
}

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

function isSame(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

interface OpenFile extends Identity {
  readonly handle: FileHandle
  readonly mtimeNs: bigint
}

async function openFile(path: string): Promise<OpenFile> {
  const handle = await open(path, 'r')
  const { dev, ino, mtimeNs } = await handle.stat({ bigint: true })
  return { handle, dev, ino, mtimeNs }
}

/** Closes all files but one, and returns that; undefined if there is none at the index. */
async function keepOnly(files: readonly OpenFile[], index: number): Promise<FileHandle | undefined> {
  for (const [at, { handle }] of files.entries()) if (at !== index) await handle.close()
  return files[index]?.handle
}

/** Reads what follows a position; undefined if that is not in the file. */
async function readAt(handle: FileHandle, { offset, tail }: Position): Promise<Buffer | undefined> {
  const { size } = await handle.stat()
  const start = offset - tail.length
  const buffer = Buffer.alloc(Math.min(tail.length + CHUNK_BYTES, Math.max(0, size - start)))
  // In one piece, because the file may be truncated meanwhile.
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, start)
  const isThere = buffer.toString('latin1', 0, Math.min(bytesRead, tail.length)) === tail
  return isThere ? buffer.subarray(tail.length, bytesRead) : undefined
}
