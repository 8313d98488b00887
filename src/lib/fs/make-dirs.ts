import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a directory and those above it that are missing, with the same mode; throws the system's error. In place of Node's own
 * `recursive`, which asks without end, and holds the whole process, where a file system says ENOENT below a directory that is
 * there: /proc, an automounter without such a key.
 */
export function makeDirs(path: string, mode = 0o777): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirs(parent, mode)
  try {
    mkdirSync(path, mode)
  } catch (error) {
    // Another one has made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(path)) throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
