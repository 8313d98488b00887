import { constants } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { fault } from '../errors.ts'
import { isWithin } from '../../lib/fs/is-within.ts'

/** A source file of a project, with links resolved. */
export interface SourceFile {
  /** Path without links, inside the project's root without links. */
  readonly path: string
  /** Path relative to the root, with "/". */
  readonly filePath: string
}

/**
 * Resolves the path of a source file. A link inside the project is followed to its target; one that points
 * outside is rejected (threat A7).
 *
 * @throws FILE_NOT_FOUND, BAD_REQUEST
 */
export async function findSourceFile(root: string, named: string): Promise<SourceFile> {
  const shown = JSON.stringify(named.slice(0, 500))
  if (named === '' || named.includes('\0')) throw fault('BAD_REQUEST', `${shown} is not a valid file path`)
  const [top, path] = await Promise.all([
    realpath(root),
    realpath(isAbsolute(named) ? named : join(root, named)).catch((error: unknown) => {
      throw fault('FILE_NOT_FOUND', `the file ${shown} cannot be opened: ${messageOf(error)}`, error)
    }),
  ])
  if (!isWithin(path, top)) throw fault('BAD_REQUEST', `the file ${shown} is not inside the project ${root}`)
  if (!(await stat(path)).isFile()) throw fault('BAD_REQUEST', `${shown} is not a regular file`)
  return { path, filePath: relative(top, path).split(sep).join('/') }
}

/** Content and identity of a file when it was read; it is replaced only if unchanged. */
export interface ReadSource {
  readonly bytes: Buffer
  readonly stat: FileIdentity
}

interface FileIdentity {
  readonly dev: bigint
  readonly ino: bigint
  readonly size: bigint
  readonly mtimeNs: bigint
  readonly mode: bigint
  readonly uid: bigint
  readonly gid: bigint
}

/**
 * Reads a whole file that is not a link. @throws as node:fs, and Error when the file is too large or not
 * regular
 */
export async function readSource(path: string, maxBytes: number): Promise<ReadSource> {
  // A pipe would block until it is written to.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const before = await file.stat({ bigint: true })
    if (!before.isFile()) throw new Error('it is not a regular file')
    if (before.size > BigInt(maxBytes))
      throw new Error(`it has ${before.size} bytes, more than the limit of ${maxBytes}`)
    return { bytes: await file.readFile(), stat: before }
  } finally {
    await file.close()
  }
}

/** Thrown if another process changed the file in the meantime. */
export class ConcurrentEditError extends Error {}

/**
 * Replaces a file atomically, keeping its mode and owner.
 *
 * @throws ConcurrentEditError when the file changed since it was read; else as node:fs
 */
export async function replaceSource(path: string, content: string, read: FileIdentity): Promise<void> {
  await writeFileDurable(path, content, {
    like: { mode: Number(read.mode), uid: Number(read.uid), gid: Number(read.gid) },
    async beforeRename() {
      const now = await lstat(path, { bigint: true })
      const isSame =
        now.dev === read.dev && now.ino === read.ino && now.size === read.size && now.mtimeNs === read.mtimeNs
      const isThere = (await realpath(dirname(path))) === dirname(path)
      if (!isSame || !isThere || !now.isFile())
        throw new ConcurrentEditError('it changed while it was formatted')
    },
  })
}
