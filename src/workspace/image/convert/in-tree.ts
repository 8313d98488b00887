import { lstatSync, mkdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { readUntrustedBytes } from '../../../lib/fs/read-untrusted.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

const MAX_LINKS = 40

/**
 * Resolves a path of an image to a path in its unpacked tree. Links are followed as inside the image, so that
 * none leaves the tree. The last part, and everything below a missing part, need not exist. Synchronous: for
 * worker threads.
 *
 * @throws BACKEND_ERROR when links form a cycle
 */
export function pathInTree(tree: string, path: string): string {
  const done: string[] = []
  const open = path.split('/')
  let links = 0
  while (open.length > 0) {
    const part = open.shift() ?? ''
    if (part === '' || part === '.') continue
    if (part === '..') {
      done.pop()
      continue
    }
    const target = linkAt(join(tree, ...done, part))
    if (target === undefined) {
      done.push(part)
      continue
    }
    if (++links > MAX_LINKS) throw fault('BACKEND_ERROR', `the image's ${path} contains a link cycle`)
    if (target.startsWith('/')) done.length = 0
    open.unshift(...target.split('/'))
  }
  return join(tree, ...done)
}

/** Creates a directory of an image and its parents. */
export function directoryInTree(tree: string, path: string): string {
  const directory = pathInTree(tree, path)
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  return directory
}

/** Returns the kind of a path in the image, following links; undefined when it does not exist. */
export function kindInTree(tree: string, path: string): 'file' | 'directory' | 'other' | undefined {
  const found = lstatSync(pathInTree(tree, path), { throwIfNoEntry: false })
  if (found === undefined) return undefined
  return found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'
}

/**
 * Reads a file of an image, or of this machine's kernel, by its resolved path. Only a regular file of at most
 * `maxBytes` is read, so that a FIFO or device cannot block. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when it cannot be read
 */
export function readImageFile(path: string, maxBytes: number, what: string): Buffer {
  try {
    return readUntrustedBytes(path, maxBytes)
  } catch (error) {
    throw fault('BACKEND_ERROR', `${what} ${path} cannot be read: ${messageOf(error)}`, error)
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
