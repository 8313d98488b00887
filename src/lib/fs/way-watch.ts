import { type FSWatcher, lstatSync, readlinkSync, watch } from 'node:fs'
import { dirname, join } from 'node:path'

/** A name on the way to a path was made, replaced or deleted, or the file at its end was written. */
type WayEvent = 'REPLACED' | 'WRITTEN'

interface Way {
  readonly onEvent: (event: WayEvent) => void
  readonly steps: { readonly directory: Directory; readonly name: string }[]
}

interface Directory {
  readonly path: string
  readonly watcher: FSWatcher | undefined
  /** By the name that they pass. */
  readonly ways: Map<string, Set<Way>>
}

/** As many as Linux follows. */
const MAX_LINKS = 40
/** macOS reports everything below a directory, which is too much for / and the home directories. */
const LEAST_DEPTH = process.platform === 'darwin' ? 3 : 0

/**
 * Watches the ways to paths: the directories and symbolic links that lead there, as far as they exist. So a path stays
 * watched when something else takes its place or that of a parent.
 */
export class WayWatch {
  readonly #directories = new Map<string, Directory>()
  readonly #onProblem: (error: NodeJS.ErrnoException) => void

  constructor(onProblem: (error: NodeJS.ErrnoException) => void) {
    this.#onProblem = onProblem
  }

  /** Watches the way to an absolute path until `REPLACED` is reported or the returned function is called. */
  follow(path: string, onEvent: Way['onEvent']): () => void {
    const way: Way = { onEvent, steps: [] }
    const names = path.split('/')
    let at = '/'
    let links = 0
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === '..') at = dirname(at)
      if (name === '..' || name === '.' || name === '') continue
      // It is watched first, so that changes after the look are reported.
      this.#pass(way, at, name)
      const next = lookAt(join(at, name))
      if (next === undefined) break
      if (next.target === undefined) at = join(at, name)
      else if (++links > MAX_LINKS) break
      else {
        names.unshift(...next.target.split('/'))
        if (next.target.startsWith('/')) at = '/'
      }
    }
    return () => this.#leave(way)
  }

  #pass(way: Way, path: string, name: string): void {
    const directory = this.#directories.get(path) ?? { path, watcher: this.#open(path), ways: new Map() }
    this.#directories.set(path, directory)
    directory.ways.set(name, (directory.ways.get(name) ?? new Set()).add(way))
    way.steps.push({ directory, name })
  }

  #leave(way: Way): void {
    for (const { directory, name } of way.steps) {
      const others = directory.ways.get(name)
      others?.delete(way)
      if (others?.size === 0) directory.ways.delete(name)
      if (directory.ways.size > 0) continue
      directory.watcher?.close()
      if (this.#directories.get(directory.path) === directory) this.#directories.delete(directory.path)
    }
    way.steps.length = 0
  }

  #open(path: string): FSWatcher | undefined {
    if (path.split('/').length <= LEAST_DEPTH) return undefined
    try {
      const watcher = watch(path, { persistent: false }, (type, name) => this.#event(path, type, name ?? ''))
      // Windows reports so that the directory was deleted.
      return watcher.on('error', () => watcher.close())
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // If it was deleted, its parent reports that. One that cannot be listed is passed without a watch, as most are of the system.
      if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes(code ?? ''))
        this.#onProblem(error as NodeJS.ErrnoException)
      return undefined
    }
  }

  #event(path: string, type: string, name: string): void {
    const ways = [...(this.#directories.get(path)?.ways.get(name) ?? [])]
    if (type !== 'rename') {
      for (const { steps, onEvent } of ways) {
        const last = steps.at(-1)
        if (last?.directory.path === path && last.name === name) onEvent('WRITTEN')
      }
      return
    }
    // All leave before one follows its path again, because directories below may be different ones now.
    for (const way of ways) this.#leave(way)
    for (const { onEvent } of ways) onEvent('REPLACED')
  }
}

/** Returns what exists at a path: a symbolic link with its target, or something else. */
function lookAt(path: string): { readonly target?: string } | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? { target: readlinkSync(path) } : {}
  } catch {
    // Also a directory that may not be searched, and a link that was replaced: the way ends there.
    return undefined
  }
}
