import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { PathWatch } from '../../lib/fs/path-watch.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { fixedPartOf, globSource, isGlob } from './glob.ts'

/** A continuous stream of changes restarts the process at the latest after this. */
const LONGEST_WAIT_MS = 10_000
const MOST_DIRECTORIES = 10_000
const MAX_NAME_LENGTH = 200
/** Names that are never watched: dependencies, version control, caches, and temporary files of editors. */
const IGNORED_NAMES =
  /^(?:node_modules|\.git|\.hg|\.svn|\.jj|\.idea|\.venv|__pycache__|\.(?:mypy_|pytest_|ruff_)?cache|\.DS_Store|4913|\.#.*|#.*#|.*~|.*\.sw[a-z])$/

interface WatchDeps {
  readonly clock: AlarmClock
  readonly warn: (message: string) => void
  /** Called once after changes, with a text that names them. */
  readonly onChange: (what: string) => void
}

/** Watches the files of a process's `watch` settings. Returns a function that stops watching. */
export function watchFiles(
  { name, cwd, watch, log }: ProcessSpec & { readonly watch: NonNullable<ProcessSpec['watch']> },
  { clock, warn, onChange }: WatchDeps,
): () => void {
  const isWatched = matcherOf(watch.paths.map((path) => resolve(cwd, path)))
  const isIgnored = ignoreRule(cwd, watch.ignore, log.file)
  const changed = new Set<string>()
  let cancel: (() => void) | undefined
  let firstMs: number | undefined
  const report = (): void => {
    const text = describe([...changed].map((path) => relative(cwd, path)))
    changed.clear()
    cancel = undefined
    firstMs = undefined
    onChange(text)
  }
  let isReported = false
  const files = new PathWatch(
    (path) => {
      if (changed.size < MOST_DIRECTORIES) changed.add(path)
      const nowMs = clock.nowMs()
      firstMs ??= nowMs
      cancel?.()
      cancel = clock.after(Math.min(watch.debounceMs, Math.max(0, firstMs + LONGEST_WAIT_MS - nowMs)), report)
    },
    (why) => {
      if (!isReported) warn(`process "${name}": not all files are watched: ${why}`)
      isReported = true
    },
    { followsLinks: true, isSkipped: isIgnored, most: MOST_DIRECTORIES },
  )
  const accepts = (path: string): boolean => isWatched(path) && !isIgnored(path)
  for (const path of watch.paths) {
    const absolute = resolve(cwd, path)
    const fixed = fixedPartOf(absolute) || '/'
    const isTree = !isGlob(absolute) || absolute.endsWith('**') || dirname(absolute) !== fixed
    files.add(fixed, { isTree, accepts: (each, isDirectory) => accepts(each) && (isTree || !isDirectory) })
    if (!existsSync(fixed))
      warn(`process "${name}": "${path}" does not exist yet; it is watched when it is made`)
  }
  return () => {
    cancel?.()
    files.close()
  }
}

function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  const sources = patterns.map((pattern) => globSource(pattern) + (isGlob(pattern) ? '' : '(?:/.*)?'))
  const all = new RegExp(`^(?:${sources.join('|')})$`, 's')
  return (path) => all.test(path)
}

/** A pattern without a slash applies to every name, others to paths; both include everything below. */
function ignoreRule(
  cwd: string,
  patterns: readonly string[],
  logFile: string | undefined,
): (path: string) => boolean {
  const sources = patterns.map((pattern) =>
    pattern.includes('/') ? globSource(resolve(cwd, pattern)) : `.*/${globSource(pattern)}`,
  )
  const own = new RegExp(`^(?:${sources.join('|')})(?:/.*)?$`, 's')
  return (path) =>
    // Its own lines would restart it forever; rotated files have a suffix.
    (logFile !== undefined && isLog(path, logFile)) ||
    (sources.length > 0 && own.test(path)) ||
    IGNORED_NAMES.test(basename(path)) ||
    relative(cwd, path)
      .split('/')
      .some((segment) => IGNORED_NAMES.test(segment))
}

/** Whether a path is that of a log file or of a rotated one, perhaps through symbolic links. */
function isLog(path: string, logFile: string): boolean {
  if (!basename(path).startsWith(basename(logFile))) return false
  return dirname(path) === dirname(logFile) || realPathOf(dirname(path)) === realPathOf(dirname(logFile))
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A directory that does not exist has no other name.
    return path
  }
}

function describe([first = '', ...others]: readonly string[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `${first.slice(0, MAX_NAME_LENGTH)}${more} changed`
}
