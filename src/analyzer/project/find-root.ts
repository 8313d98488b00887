import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fault } from '../errors.ts'
import { PROJECT_FILE } from './project-file.ts'

/** Files that mark the root of a project. */
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
  'WORKSPACE',
  'WORKSPACE.bazel',
  'build.mill',
  'build.sc',
  PROJECT_FILE,
]

/**
 * Finds the project that contains a folder: the nearest folder upwards with a build definition file, with
 * links resolved.
 *
 * @throws PROJECT_NOT_FOUND when there is none
 */
export function findProjectRoot(from: string): string {
  const start = resolve(from)
  if (!existsSync(start) || !statSync(start).isDirectory()) {
    throw fault('PROJECT_NOT_FOUND', `"${from}" is not a directory; select the project with --project`)
  }
  for (let folder = realpathSync(start); ; folder = dirname(folder)) {
    if (BUILD_FILES.some((file) => existsSync(join(folder, file)))) return folder
    if (dirname(folder) === folder) break
  }
  throw fault(
    'PROJECT_NOT_FOUND',
    `neither "${start}" nor a folder above it has a build definition file (${BUILD_FILES.slice(0, 2).join(', ')} …); select the project with --project`,
  )
}
