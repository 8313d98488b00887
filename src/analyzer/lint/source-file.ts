import { constants } from 'node:fs'
import { lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'
import { fault } from '../errors.ts'
import { isWithin } from '../../lib/fs/is-within.ts'

/** A source file of a project, where it really is. */
export interface SourceFile {
  /** Without links, and inside the project's root without links. */
  readonly path: string
  /** Below the root, with "/". */
  readonly filePath: string
}

/**
 * Where a file that somebody names is. A link inside the project leads to what it stands for; one that leads out is refused (threat A7).
 *
 * @throws FILE_NOT_FOUND, BAD_REQUEST
 */
export async function findSourceFile(root: string, named: string): Promise<SourceFile> {
  const shown = JSON.stringify(named.slice(0, 500))
  if (named === '' || named.includes('\0')) throw fault('BAD_REQUEST', `${shown} is no path of a file`)
  const [top, path] = await Promise.all([
    realpath(root),
    realpath(isAbsolute(named) ? named : join(root, named)).catch((error: unknown) => {
      throw fault('FILE_NOT_FOUND', `the file ${shown} cannot be opened: ${messageOf(error)}`, error)
    }),
  ])
  if (!isWithin(path, top)) throw fault('BAD_REQUEST', `the file ${shown} is not inside the project ${root}`)
  if (!(await stat(path)).isFile()) throw fault('BAD_REQUEST', `${shown} is no regular file`)
  return { path, filePath: relative(top, path).split(sep).join('/') }
}

/** What a file was when it was read; it is only replaced while it is that. */
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

/** Reads a whole file that is no link. @throws as node:fs, and an Error with a sentence for what is larger or no file */
export async function readSource(path: string, maxBytes: number): Promise<ReadSource> {
  // A pipe would block until somebody writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const before = await file.stat({ bigint: true })
    if (!before.isFile()) throw new Error('it is no regular file')
    if (before.size > BigInt(maxBytes))
      throw new Error(`it has ${before.size} bytes; at most ${maxBytes} are read`)
    return { bytes: await file.readFile(), stat: before }
  } finally {
    await file.close()
  }
}

/** What has been changed by another meanwhile. */
export class ConcurrentEditError extends Error {}

/**
 * Replaces a file as a whole, with the mode and the owner that it had.
 *
 * @throws ConcurrentEditError where it is not the file any more that was read; else as node:fs
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
        throw new ConcurrentEditError('it was changed while it was formatted')
    },
  })
}
