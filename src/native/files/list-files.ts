import { getAddon } from '../load.ts'

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
  const [names, figures, problems] = getAddon('listing files').listFiles(root, rule.ending, rule.skipped)
  const files = (names === '' ? [] : names.split('\0')).map((name, i) => ({
    name,
    bytes: figures[2 * i] as number,
    modifiedMs: figures[2 * i + 1] as number,
  }))
  return { files, problems }
}
