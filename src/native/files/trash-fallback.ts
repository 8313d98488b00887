import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { mountPointsBelow } from './mount-points.ts'
import { TRASH_PREFIX, type TrashLocation } from './trash-location.ts'

// Fallback for the addon on Linux: Node.js has no openat, but a path through /proc/self/fd starts at an open
// directory, and O_NOFOLLOW applies to its last part. Each step is such a path of one part.

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const MAX_DEPTH = 32

/** Moves an entry to the trash; see trash.ts. */
export function moveToTrash(location: TrashLocation, name: string, trash: string): void {
  const path = join(location.root, location.parent, name)
  if (!isName(name) || !isTrash(trash) || isTrash(name)) throw systemError('EINVAL', path)
  withParent(location, (parent) => {
    const before = lstatSync(at(parent, name))
    if (before.isSymbolicLink()) throw systemError('ELOOP', path)
    if (isMount(parent, name, before)) throw systemError('EXDEV', path)
    renameExclusively(parent, name, trash)
    const after = lstatSync(at(parent, trash))
    if (after.ino === before.ino && after.dev === before.dev) return
    if (!exists(at(parent, name))) renameSync(at(parent, trash), at(parent, name))
    throw systemError('ESTALE', path)
  })
}

/** Restores an entry from the trash; see trash.ts. */
export function restoreFromTrash(location: TrashLocation, trash: string, name: string): void {
  if (!isName(name) || !isTrash(trash))
    throw systemError('EINVAL', join(location.root, location.parent, name))
  withParent(location, (parent) => renameExclusively(parent, trash, name))
}

/** Removes an entry of the trash; see trash.ts. */
export function removeTrash(location: TrashLocation, trash: string): void {
  if (!isTrash(trash)) throw systemError('EINVAL', join(location.root, location.parent, trash))
  try {
    withParent(location, (parent) => {
      const waiting = [trash]
      let moves = 0
      const lift = (from: string): void => {
        const lifted = `${trash}-${++moves}`
        renameSync(from, at(parent, lifted))
        waiting.push(lifted)
      }
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
        remove(parent, Buffer.from(next), 0, lift)
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function remove(parent: number, name: Buffer, depth: number, lift: (from: string) => void): void {
  const path = Buffer.concat([Buffer.from(`/proc/self/fd/${parent}/`), name])
  const stat = lstatSync(path)
  if (!stat.isDirectory()) return unlinkSync(path)
  if (depth === MAX_DEPTH) return lift(path.toString())
  if (isMount(parent, name.toString(), stat)) throw systemError('EXDEV', name.toString())
  const fd = openSync(path, DIRECTORY)
  try {
    for (const each of readdirSync(`/proc/self/fd/${fd}/`, { encoding: 'buffer' }))
      remove(fd, each, depth + 1, lift)
  } finally {
    closeSync(fd)
  }
  rmdirSync(path)
}

function withParent({ root, parent }: TrashLocation, work: (parent: number) => void): void {
  const opened: number[] = []
  try {
    // The root itself is trusted, even if it is a link.
    let directory = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY)
    opened.push(directory)
    for (const step of parent.split('/')) {
      if (step === '.') continue
      if (!isName(step)) throw systemError('EXDEV', join(root, parent))
      directory = openSync(at(directory, step), DIRECTORY)
      opened.push(directory)
    }
    work(directory)
    fsyncSync(directory)
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

function renameExclusively(parent: number, from: string, to: string): void {
  if (exists(at(parent, to))) throw systemError('EEXIST', to)
  renameSync(at(parent, from), at(parent, to))
}

/** Whether an entry is a mount. A bind mount has the device number of its source. */
function isMount(parent: number, name: string, stat: Stats): boolean {
  if (fstatSync(parent).dev !== stat.dev) return true
  return mountPointsBelow(`/proc/self/fd/${parent}/`)?.has(`/proc/self/fd/${parent}/${name}`) ?? false
}

function at(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !text.includes('/')
}

function isTrash(text: string): boolean {
  return isName(text) && text.startsWith(TRASH_PREFIX)
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path} is not moved`), { code, path })
}
