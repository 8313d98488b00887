import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Logger } from '../../lib/log/logger.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { findModules } from '../classpath/project-layout.ts'
import type { AnalyzerConfig } from '../config.ts'
import type { Source } from '../classpath/source.ts'
import { fault } from '../errors.ts'
import type { BuildToolCache } from './build-tool-cache.ts'
import { findJvm, type Jvm } from './find-jvm.ts'
import { classesInProjectFile } from './project-file.ts'

/** A folder or archive of a class path. */
export interface ClassPathEntry {
  readonly path: string
  readonly source: Source
}

/** Class path of a project. */
export interface ClassPath {
  readonly entries: readonly ClassPathEntry[]
  /** Java release that selects the classes of multi-release archives. */
  readonly release: number
  /** "maven", "gradle" or "jar", with the reason for a fallback. */
  readonly resolvedBy: string
  /** Class folders and archives that the user or the project's file names instead of a search. */
  readonly named: readonly string[]
}

/**
 * Resolves the class path of a project. @throws SCAN_FAILED when the mode is `buildtool` and the build tool
 * fails, and as `classesInProjectFile`
 */
export async function resolveClassPath(
  { server: { mode }, jvmHome, classes }: Pick<AnalyzerConfig, 'server' | 'jvmHome' | 'classes'>,
  root: string,
  logger: Logger,
  signal: AbortSignal,
  buildTool: BuildToolCache,
): Promise<ClassPath> {
  const jvm = findJvm(jvmHome, process.env)
  if (jvm === undefined) {
    logger.warn('no JVM found, JDK classes are missing; set ANALYZER_JVM_HOME')
  }
  const named = (classes.length > 0 ? classes : classesInProjectFile(root)).map((path) => resolve(root, path))
  const found = searchProject(root)
  const withJdk = (files: ProjectFiles, resolvedBy: string): ClassPath =>
    classPathOf(jvm, named, named.length > 0 ? { ...files, folders: named } : files, resolvedBy)
  if (mode === 'jar') return withJdk(found, 'jar')
  try {
    const { tool, libraries, classFolders } = await buildTool.get({ root, jvm, logger, signal })
    const folders = [...found.folders, ...classFolders.filter((folder) => existsSync(folder))]
    return withJdk({ folders, libraries }, tool)
  } catch (error) {
    signal.throwIfAborted()
    const why = messageOf(error)
    if (mode === 'buildtool')
      throw fault('SCAN_FAILED', `the build tool could not resolve the class path: ${why}`, error)
    logger.info(
      { why },
      'the build tool could not resolve the class path; searching for class folders and jars',
    )
    return withJdk(found, `jar (${why})`)
  }
}

interface ProjectFiles {
  readonly folders: readonly string[]
  readonly libraries: readonly string[]
}

/** Searches the project's folders; runs nothing (threat A9). */
function searchProject(root: string): ProjectFiles {
  const modules = findModules(root)
  return {
    folders: modules.flatMap(({ classFolders }) => classFolders),
    libraries: modules.flatMap(({ libraries }) => libraries),
  }
}

function classPathOf(
  jvm: Jvm | undefined,
  named: readonly string[],
  { folders, libraries }: ProjectFiles,
  resolvedBy: string,
): ClassPath {
  return {
    entries: [
      ...entriesOf('PROJECT', folders),
      ...entriesOf('LIBRARY', libraries),
      ...entriesOf('JDK', jvm?.classes ?? []),
    ],
    release: jvm?.release ?? 8,
    resolvedBy,
    named,
  }
}

function entriesOf(source: Source, paths: readonly string[]): readonly ClassPathEntry[] {
  return [...new Set(paths)].map((path) => ({ path, source }))
}
