import { lstatSync, mkdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { readUntrustedBytes } from '../../../lib/fs/read-untrusted.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

const MAX_LINKS = 40

/**
 * Where a path of an image is in the tree that it was unpacked to, all links of the image followed as the image would,
 * so that none leads out of the tree. The last part, and what is below a part that is missing, need not exist.
 * Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR for links that lead in circles
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
    if (++links > MAX_LINKS) throw fault('BACKEND_ERROR', `the image's ${path} leads in circles`)
    if (target.startsWith('/')) done.length = 0
    open.unshift(...target.split('/'))
  }
  return join(tree, ...done)
}

/** Makes a directory of an image, and those above it. */
export function directoryInTree(tree: string, path: string): string {
  const directory = pathInTree(tree, path)
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  return directory
}

/** What a path is in the image, links followed; undefined for nothing. */
export function kindInTree(tree: string, path: string): 'file' | 'directory' | 'other' | undefined {
  const found = lstatSync(pathInTree(tree, path), { throwIfNoEntry: false })
  if (found === undefined) return undefined
  return found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'
}

/**
 * Reads a file of an image, or of this machine's kernel, whose path has been resolved: a regular file of at most `maxBytes` and nothing else, so that no FIFO is waited for
 * and no device read. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR
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
