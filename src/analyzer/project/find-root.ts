import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fault } from '../errors.ts'

/** Files that make a folder the root of a project. */
const BUILD_FILES = [
  'pom.xml',
  'build.gradle',
  'build.gradle.kts',
  'settings.gradle',
  'settings.gradle.kts',
  'build.xml',
  'build.sbt',
  'BUILD',
  'BUILD.bazel',
  'MODULE.bazel',
]

/**
 * The project that a folder belongs to: the nearest folder with a build definition file, from there upwards, its links
 * resolved.
 *
 * @throws PROJECT_NOT_FOUND
 */
export function findProjectRoot(from: string): string {
  const start = resolve(from)
  if (!existsSync(start) || !statSync(start).isDirectory()) {
    throw fault('PROJECT_NOT_FOUND', `"${from}" is no directory; name the project's with --project`)
  }
  for (let folder = realpathSync(start); ; folder = dirname(folder)) {
    if (BUILD_FILES.some((file) => existsSync(join(folder, file)))) return folder
    if (dirname(folder) === folder) break
  }
  throw fault(
    'PROJECT_NOT_FOUND',
    `neither "${start}" nor a folder above it has a build definition file (${BUILD_FILES.slice(0, 2).join(', ')} …); name the project with --project`,
  )
}
