import { cp } from 'node:fs/promises'

/** Copies the content of a directory; links are not followed. */
export function copyTree(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
}
