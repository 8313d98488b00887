import { type Dirent, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'

const SOURCE = /\.(?:java|kts?|groovy|scala)$/
/** Folders of build output; below a `src` folder they are packages. */
const BUILT = new Set(['target', 'build', 'out', 'bin', 'dist', 'classes', 'generated'])
const MAX_DEPTH = 64
const MAX_FILES = 500_000

/**
 * Lists the source files of a project, sorted by path relative to its root. Does not follow links; skips
 * hidden folders, node_modules and build output.
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

/**
 * Whether a file is a test: by its source set (`src/test/…`), elsewhere by a folder named "test" or "tests".
 */
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
