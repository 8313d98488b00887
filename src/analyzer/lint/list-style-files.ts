import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import micromatch from 'micromatch'
import { isTestFile, listSourceFiles } from '../project/source-files.ts'
import type { SourceFile } from './source-file.ts'

/** Selects files of a project. */
export interface StyleScope {
  readonly root: string
  /** Glob for paths relative to the root; without a "/" it applies to file names. */
  readonly pattern: string | undefined
  readonly includeTests: boolean
}

/** Files to check or format, by language. */
export interface StyleFiles {
  readonly java: readonly SourceFile[]
  readonly kotlin: readonly SourceFile[]
}

/** Lists the files of a scope in order. Does not follow links. */
export function listStyleFiles({ root, pattern, includeTests }: StyleScope): StyleFiles {
  const top = realpathSync(root)
  const isWanted = (file: string): boolean =>
    pattern === undefined ||
    micromatch.isMatch(file, pattern, { basename: !pattern.includes('/'), dot: true })
  const files = listSourceFiles(top)
    .filter((file) => includeTests || !isTestFile(file))
    .map((file) => ({ path: join(top, file), filePath: file.split(sep).join('/') }))
    .filter(({ filePath }) => isWanted(filePath))
  return {
    java: files.filter(({ path }) => path.endsWith('.java')),
    kotlin: files.filter(({ path }) => /\.kts?$/.test(path)),
  }
}
