import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * Whether the system watches trees. Linux watches only single directories; Node.js emulates trees there by
 * watching each file.
 */
const WATCHES_TREES = process.platform === 'darwin' || process.platform === 'win32'

type OnEvent = (path: string) => void

/** Extent of a watch on a directory: the whole tree, or the directory itself and the names that pass a test. */
type Kind = 'tree' | ((name: string) => boolean)

/**
 * Watches directories, including new ones in trees. A directory that is replaced by another of the same name
 * is watched again.
 */
export class DirectoryWatch {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly kind: Kind }>()
  readonly #onEvent: OnEvent
  readonly #onProblem: (error: NodeJS.ErrnoException) => void
  readonly #isSkipped: (path: string) => boolean
  readonly #most: number

  /** @param bounds directories that are not entered, and the maximum number of watched ones; default: none and unlimited */
  constructor(
    onEvent: OnEvent,
    onProblem: (error: NodeJS.ErrnoException) => void,
    bounds: { readonly isSkipped?: (path: string) => boolean; readonly most?: number } = {},
  ) {
    this.#onEvent = onEvent
    this.#onProblem = onProblem
    this.#isSkipped = bounds.isSkipped ?? (() => false)
    this.#most = bounds.most ?? Infinity
  }

  get count(): number {
    return this.#watchers.size
  }

  /** Watches a directory. Returns whether this added a watch; a missing directory is ignored. */
  add(path: string, kind: Kind): boolean {
    if (!isDirectory(path)) return false
    const known = this.#watchers.get(path)
    if (known !== undefined && (known.kind === 'tree' || kind !== 'tree')) return false
    known?.watcher.close()
    if (known === undefined && this.#watchers.size >= this.#most) {
      this.#onProblem(new Error(`more than ${this.#most} directories`))
      return false
    }
    this.#open(path, kind)
    if (kind === 'tree' && !WATCHES_TREES)
      for (const below of foldersIn(path)) if (!this.#isSkipped(below)) this.add(below, 'tree')
    return true
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #open(path: string, kind: Kind): void {
    try {
      const recursive = kind === 'tree' && WATCHES_TREES
      const watcher = watch(path, { persistent: false, recursive }, (type, name) =>
        this.#event(path, kind, type, name),
      )
      watcher.on('error', () => this.#drop(path))
      this.#watchers.set(path, { watcher, kind })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // It was deleted meanwhile; the watch of its parent reports that.
      if (code !== 'ENOENT' && code !== 'ENOTDIR') this.#onProblem(error as NodeJS.ErrnoException)
    }
  }

  #event(path: string, kind: Kind, type: string, name: string | null): void {
    if (name === null) {
      this.#onEvent(path)
      return
    }
    const changed = join(path, name)
    if (kind !== 'tree' && !kind(name)) return
    // A deleted directory reports an event with its own name.
    if (name === basename(path) && !isDirectory(path)) this.#drop(path)
    if (type === 'rename' && !WATCHES_TREES) this.#renew(changed, kind)
    this.#onEvent(changed)
  }

  /** Watches a path again, which may be a different directory now. */
  #renew(path: string, parent: Kind): void {
    const known = this.#watchers.get(path)?.kind
    this.#drop(path)
    const kind = known ?? (parent === 'tree' ? 'tree' : undefined)
    if (kind !== undefined && !this.#isSkipped(path)) this.add(path, kind)
  }

  #drop(path: string): void {
    for (const [each, { watcher }] of this.#watchers) {
      if (each !== path && !each.startsWith(`${path}/`)) continue
      watcher.close()
      this.#watchers.delete(each)
    }
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function foldersIn(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(path, name))
  } catch {
    return []
  }
}
