import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, rename, rm, symlink } from 'node:fs/promises'
import type { SparseLayout } from '../tar/entry.ts'
import { placed } from '../tar/sparse.ts'

/** Every open directory of the current path uses a descriptor. */
const MAX_DEPTH = 256
/** Linux's NAME_MAX. */
const MAX_NAME_BYTES = 255
/** Zeros from this many bytes on become a hole. */
const MIN_HOLE_BYTES = 4096
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY
const ZEROS = Buffer.alloc(64 * 1024)

/** Properties of a file to create. */
interface FileProperties {
  readonly mode: number
  readonly mtimeMs: number
  /** Where the content belongs in a sparse file. */
  readonly layout?: SparseLayout | undefined
}

interface OpenDirectory {
  readonly name: string
  readonly handle: FileHandle
  readonly path: string
  /** Applied when the directory is left, because it may forbid creating files. */
  properties?: FileProperties
}

/**
 * A directory in which files with hostile names are created. Nothing outside is created or changed: `..` and absolute paths are
 * refused, links are never followed, and on Linux directories are opened by descriptor, so that no concurrent change can redirect
 * a path. Paths are byte strings (`latin1`). setuid, setgid and sticky bits are dropped.
 *
 * @throws Error for a path that leaves the directory, and the system's errors
 */
export class ConfinedTree {
  readonly #open: OpenDirectory[]

  private constructor(root: OpenDirectory) {
    this.#open = [root]
  }

  /** Opens an existing directory; only this path may contain links. */
  static async open(path: string): Promise<ConfinedTree> {
    const handle = await open(path, DIRECTORY)
    return new ConfinedTree({ name: '', handle, path: Buffer.from(path).toString('latin1') })
  }

  /** Applies the properties of open directories, and closes them. */
  async close(): Promise<void> {
    while (this.#open.length > 0) await this.#leave()
  }

  /** Creates a directory, or keeps an existing one with its mode. */
  async directory(path: string, properties: FileProperties): Promise<void> {
    const names = namesOf(path)
    const name = names.at(-1)
    if (name === undefined) return
    const isCreated = await make(pathIn(await this.#enter(names.slice(0, -1)), name), 0o700)
    const own = await this.#enter(names)
    if (isCreated) own.properties = properties
  }

  /** Creates or replaces a file. Long runs of zeros become holes. */
  async file(path: string, content: AsyncIterable<Buffer>, properties: FileProperties): Promise<void> {
    await this.#replace(path, async (temporary) => {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      const file = await open(temporary, flags, 0o600)
      try {
        await writeSparse(file, content, properties.layout)
        await apply(file, properties)
      } finally {
        await file.close()
      }
    })
  }

  /** Creates or replaces a symbolic link. Its target is not checked, because nothing here follows it. */
  async link(path: string, target: string): Promise<void> {
    await this.#replace(path, (temporary) => symlink(bytesOf(target), temporary))
  }

  /** Creates or replaces a hard link to another file of the tree. */
  async hardlink(path: string, target: string): Promise<void> {
    const { directory, name } = await this.#parentOf(target)
    // A separate descriptor, because entering the link's own directory may close this one.
    const held = await open(pathIn(directory, '.'), DIRECTORY)
    try {
      const source = pathIn({ handle: held, path: directory.path }, name)
      if (!(await lstat(source)).isFile())
        throw new Error(`"${shown(target)}" is linked to, but is not a regular file`)
      await this.#replace(path, (temporary) => link(source, temporary))
    } finally {
      await held.close()
    }
  }

  /** Creates a file under a temporary name, then replaces any file of the given name, but no directory. */
  async #replace(path: string, create: (temporary: Buffer) => Promise<void>): Promise<void> {
    const { directory, name } = await this.#parentOf(path)
    const temporary = pathIn(directory, `.copy-${randomBytes(6).toString('hex')}.tmp`)
    try {
      await create(temporary)
      await rename(temporary, pathIn(directory, name))
    } finally {
      // Remains after a failure, and after replacing a file by a hard link to itself.
      await rm(temporary, { force: true })
    }
  }

  async #parentOf(path: string): Promise<{ readonly directory: OpenDirectory; readonly name: string }> {
    const names = namesOf(path)
    const name = names.pop()
    if (name === undefined) throw new Error('a file has the name of the directory that contains all')
    return { directory: await this.#enter(names), name }
  }

  /** Opens a directory below the root, and creates missing ones on the way. */
  async #enter(names: readonly string[]): Promise<OpenDirectory> {
    let depth = 0
    while (depth < names.length && this.#open[depth + 1]?.name === names[depth]) depth++
    while (this.#open.length > depth + 1) await this.#leave()
    for (const name of names.slice(depth)) {
      const parent = this.#open.at(-1) as OpenDirectory
      const path = pathIn(parent, name)
      await make(path, 0o777)
      const handle = await open(path, DIRECTORY | constants.O_NOFOLLOW)
      this.#open.push({ name, handle, path: `${parent.path}/${name}` })
    }
    return this.#open.at(-1) as OpenDirectory
  }

  async #leave(): Promise<void> {
    const left = this.#open.pop()
    if (left === undefined) return
    try {
      if (left.properties !== undefined) await apply(left.handle, left.properties)
    } finally {
      await left.handle.close()
    }
  }
}

/** Splits a path into names. @throws Error for a path that could leave the directory, or is too deep */
function namesOf(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (path.startsWith('/') || names.includes('..') || path.includes('\0'))
    throw new Error(`"${shown(path)}" would be outside the target directory`)
  if (names.length > MAX_DEPTH)
    throw new Error(`"${shown(path)}" has ${names.length} levels; at most ${MAX_DEPTH} are supported`)
  if (names.some((name) => name.length > MAX_NAME_BYTES))
    throw new Error(`"${shown(path)}" has a name of more than ${MAX_NAME_BYTES} bytes`)
  return names
}

function pathIn({ handle, path }: Pick<OpenDirectory, 'handle' | 'path'>, name: string): Buffer {
  // Node.js has no openat, but on Linux a path through /proc/self/fd starts at an open directory.
  return bytesOf(process.platform === 'linux' ? `/proc/self/fd/${handle.fd}/${name}` : `${path}/${name}`)
}

/** Returns the bytes of a byte string. */
function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

function shown(path: string): string {
  return bytesOf(path).toString().slice(0, 200)
}

/** Creates a directory; returns false if something of that name exists. */
async function make(path: Buffer, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function apply(handle: FileHandle, { mode, mtimeMs }: FileProperties): Promise<void> {
  await handle.chmod(mode & 0o777)
  await handle.utimes(mtimeMs / 1000, mtimeMs / 1000)
}

async function writeSparse(
  file: FileHandle,
  content: AsyncIterable<Buffer>,
  layout: SparseLayout | undefined,
): Promise<void> {
  let end = 0
  for await (const { at, bytes } of placed(content, layout)) {
    if (!isHole(bytes)) await file.write(bytes, 0, bytes.length, at)
    end = at + bytes.length
  }
  // Extends the file over a hole at its end.
  await file.truncate(layout?.fileBytes ?? end)
}

function isHole(chunk: Buffer): boolean {
  return (
    chunk.length >= MIN_HOLE_BYTES &&
    chunk.length <= ZEROS.length &&
    chunk.equals(ZEROS.subarray(0, chunk.length))
  )
}
