import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { basename, join } from 'node:path'

/** Linux watches single directories only; what Node makes of that for trees watches each file. */
const WATCHES_TREES = process.platform === 'darwin' || process.platform === 'win32'

type OnEvent = (path: string) => void

/** What is watched at a directory: all below it, or itself and only what is of interest there. */
type Kind = 'tree' | ((name: string) => boolean)

/** Watches directories, and in trees those that come to be. A directory that is replaced by another of its name is watched anew. */
export class DirectoryWatch {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly kind: Kind }>()
  readonly #onEvent: OnEvent
  readonly #onProblem: (error: NodeJS.ErrnoException) => void

  constructor(onEvent: OnEvent, onProblem: (error: NodeJS.ErrnoException) => void) {
    this.#onEvent = onEvent
    this.#onProblem = onProblem
  }

  get count(): number {
    return this.#watchers.size
  }

  /** Returns whether something is watched now that was not before. A directory that is not there is passed over. */
  add(path: string, kind: Kind): boolean {
    if (!isDirectory(path)) return false
    const known = this.#watchers.get(path)
    if (known !== undefined && (known.kind === 'tree' || kind !== 'tree')) return false
    known?.watcher.close()
    this.#open(path, kind)
    if (kind === 'tree' && !WATCHES_TREES) for (const below of foldersIn(path)) this.add(below, 'tree')
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
      // It has gone meanwhile; its parent tells.
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
    // A directory says of itself that it has gone, under its own name.
    if (name === basename(path) && !isDirectory(path)) this.#drop(path)
    if (type === 'rename' && !WATCHES_TREES) this.#renew(changed, kind)
    this.#onEvent(changed)
  }

  /** What is called so may be another directory than before. */
  #renew(path: string, parent: Kind): void {
    const known = this.#watchers.get(path)?.kind
    this.#drop(path)
    const kind = known ?? (parent === 'tree' ? 'tree' : undefined)
    if (kind !== undefined) this.add(path, kind)
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
