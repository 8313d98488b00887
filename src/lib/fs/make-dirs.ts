import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory and its missing parents with the same mode; throws the system's error. Node's `recursive` loops forever and
 * blocks the process where a file system returns ENOENT below an existing directory: /proc, or an automounter without such a
 * key.
 */
export function makeDirs(path: string, mode = 0o777): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirs(parent, mode)
  try {
    mkdirSync(path, mode)
  } catch (error) {
    // Created by somebody else meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(path)) throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
