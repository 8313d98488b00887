import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { warnOfFallback } from './fallback-warning.ts'
import { loadAddon } from './load.ts'

/** Which files are listed. */
export interface ListRule {
  /** How their names end. */
  readonly ending: string
  /** This directory of the folder, and what is below it, are left out. */
  readonly skipped: string
}

interface ListedFile {
  /** From the folder on, with its ending: "demo/A.class". */
  readonly name: string
  readonly bytes: number
  /** As `Stats.mtimeMs`. */
  readonly modifiedMs: number
}

export interface FileList {
  /** By their names without the ending. */
  readonly files: readonly ListedFile[]
  /** What could not be read, as from node:fs. */
  readonly problems: readonly NodeJS.ErrnoException[]
}

/** Lists the regular files of some kind below a folder, at once. Symbolic links are not followed; what vanishes meanwhile is a problem. */
export function listFiles(root: string, rule: ListRule): FileList {
  if (root.includes('\0')) throw new TypeError('path contains a NUL')
  const loaded = loadAddon()
  if (loaded.is !== 'loaded') {
    warnOfFallback('listFiles', loaded.reason)
    return listFilesInJs(root, rule)
  }
  const [names, figures, problems] = loaded.addon.listFiles(root, rule.ending, rule.skipped)
  const files = (names === '' ? [] : names.split('\0')).map((name, i) => ({
    name,
    bytes: figures[2 * i] as number,
    modifiedMs: figures[2 * i + 1] as number,
  }))
  return { files, problems }
}

/** Exported to be held against the addon; `listFiles` is what to call. */
export function listFilesInJs(root: string, { ending, skipped }: ListRule): FileList {
  const files: ListedFile[] = []
  const problems: NodeJS.ErrnoException[] = []
  const attempt = <Result>(read: () => Result): Result | undefined => {
    try {
      return read()
    } catch (error) {
      problems.push(error as NodeJS.ErrnoException)
      return undefined
    }
  }
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const path = join(root, folder)
    for (const entry of attempt(() => readdirSync(path, { withFileTypes: true })) ?? []) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && name !== skipped) waiting.push(name)
      if (!entry.isFile() || !entry.name.endsWith(ending)) continue
      const stat = attempt(() => lstatSync(join(root, name)))
      if (stat !== undefined) files.push({ name, bytes: stat.size, modifiedMs: stat.mtimeMs })
    }
  }
  const sorted = files
    .map((file) => ({ file, stem: Buffer.from(file.name.slice(0, -ending.length)) }))
    .toSorted((a, b) => Buffer.compare(a.stem, b.stem))
  return { files: sorted.map(({ file }) => file), problems }
}
