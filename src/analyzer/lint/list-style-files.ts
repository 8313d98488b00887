import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import micromatch from 'micromatch'
import { isTestFile, listSourceFiles } from '../project/source-files.ts'
import type { SourcePlace } from './source-place.ts'

/** Which files of a project are looked at. */
export interface StyleScope {
  readonly root: string
  /** Of paths below the root; without a "/" of names. */
  readonly pattern: string | undefined
  readonly includeTests: boolean
}

export interface StyleFiles {
  readonly java: readonly SourcePlace[]
  readonly kotlin: readonly SourcePlace[]
}

/** The files of a project in order. Links are not followed. */
export function listStyleFiles({ root, pattern, includeTests }: StyleScope): StyleFiles {
  const top = realpathSync(root)
  const isWanted = (file: string): boolean =>
    pattern === undefined ||
    micromatch.isMatch(file, pattern, { basename: !pattern.includes('/'), dot: true })
  const places = listSourceFiles(top)
    .filter((file) => includeTests || !isTestFile(file))
    .map((file) => ({ path: join(top, file), filePath: file.split(sep).join('/') }))
    .filter(({ filePath }) => isWanted(filePath))
  return {
    java: places.filter(({ path }) => path.endsWith('.java')),
    kotlin: places.filter(({ path }) => /\.kts?$/.test(path)),
  }
}
