import { type Dirent, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'

const SOURCE = /\.(?:java|kts?|groovy|scala)$/
/** What builds write, and what is no part of the project; below a `src` these are packages. */
const BUILT = new Set(['target', 'build', 'out', 'bin', 'dist', 'classes', 'generated'])
const MAX_DEPTH = 64
const MAX_FILES = 500_000

/**
 * The source files of a project, by their paths below its root, in order. Links are not followed; hidden folders, packages of
 * npm and what builds write are left out.
 */
export function listSourceFiles(root: string): readonly string[] {
  const files: string[] = []
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const parts = folder === '' ? [] : folder.split(sep)
    if (parts.length >= MAX_DEPTH) continue
    for (const entry of entriesOf(join(root, folder))) {
      const path = folder === '' ? entry.name : join(folder, entry.name)
      if (entry.isDirectory() && isWalked(entry.name, parts)) waiting.push(path)
      if (entry.isFile() && SOURCE.test(entry.name)) files.push(path)
    }
    if (files.length > MAX_FILES) throw new Error(`${root} has more than ${MAX_FILES} source files`)
  }
  return files.toSorted()
}

function isWalked(name: string, above: readonly string[]): boolean {
  if (name.startsWith('.') || name === 'node_modules') return false
  return !BUILT.has(name) || above.includes('src')
}

/** Whether a file is of tests: by its source set (`src/test/…`), elsewhere by a folder called so. */
export function isTestFile(path: string): boolean {
  const parts = path.split(/[/\\]/).slice(0, -1)
  const set = parts[parts.lastIndexOf('src') + 1]
  if (parts.includes('src') && set !== undefined) return /test/i.test(set)
  return parts.some((part) => /^tests?$/i.test(part))
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
