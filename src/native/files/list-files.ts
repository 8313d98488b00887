import { getAddon } from '../load.ts'

/** Selects files to list. */
export interface ListRule {
  /** Suffix of their names. */
  readonly ending: string
  /** Directory of the folder to skip, with everything below it. */
  readonly skipped: string
}

interface ListedFile {
  /** Path relative to the folder, with its suffix: "demo/A.class". */
  readonly name: string
  readonly bytes: number
  /** As `Stats.mtimeMs`. */
  readonly modifiedMs: number
}

/** Files of a folder. */
export interface FileList {
  /** Sorted by name without the suffix. */
  readonly files: readonly ListedFile[]
  /** Errors as from node:fs, for what could not be read. */
  readonly problems: readonly NodeJS.ErrnoException[]
}

/**
 * Lists the regular files with a suffix below a folder, synchronously. Does not follow symbolic links;
 * reports what is deleted meanwhile as a problem.
 */
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
