import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import micromatch from 'micromatch'
import { isTestFile, listSourceFiles } from '../project/source-files.ts'
import type { SourceFile } from './source-file.ts'

/** Which files of a project are looked at. */
export interface StyleScope {
  readonly root: string
  /** Of paths below the root; without a "/" of names. */
  readonly pattern: string | undefined
  readonly includeTests: boolean
}

export interface StyleFiles {
  readonly java: readonly SourceFile[]
  readonly kotlin: readonly SourceFile[]
}

/** The files of a project in order. Links are not followed. */
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
