import { type Dirent, type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { WayWatch } from './way-watch.ts'

/**
 * Whether the system watches trees. Linux watches only single directories; Node.js emulates trees there by
 * watching each file.
 */
const WATCHES_TREES = process.platform === 'darwin' || process.platform === 'win32'

/** The watched files at and below a path. */
interface Extent {
  /** Whether the contents of subdirectories belong to it. */
  readonly isTree: boolean
  /** Whether a file does; without a tree, also asked for a new subdirectory. */
  readonly accepts: (path: string) => boolean
}

/** An added path, or a directory or symbolic link below one. */
interface Place {
  readonly path: string
  readonly extent: Extent
  readonly parent: Place | undefined
  /** Directories and symbolic links directly below, by name. */
  readonly below: Map<string, Place>
  /** Identity of the file or directory. */
  id?: string | undefined
  /** Time of its birth, which overlayfs changes when the directory is copied to its upper layer; 0 if unknown. */
  bornMs?: number | undefined
  watcher?: FSWatcher | undefined
  leaveWay?: () => void
  /** Names of the accepted files directly below; that of the path, if it is one. */
  readonly files: Set<string>
}

type Report = (path: string) => void

interface Options {
  /** Whether symbolic links below the paths are followed. */
  readonly followsLinks: boolean
  /** Paths that are not entered; default: none. */
  readonly isSkipped?: (path: string) => boolean
  /** Maximum number of watched directories and followed links; default: unlimited. */
  readonly most?: number
}

/**
 * Watches the files at and below paths. What is missing, deleted, moved or replaced is watched when something has its
 * path.
 */
export class PathWatch {
  readonly #roots = new Map<string, Place>()
  /** Directories and symbolic links. */
  readonly #watched = new Set<Place>()
  readonly #ways: WayWatch
  readonly #onChange: Report
  readonly #onProblem: (error: NodeJS.ErrnoException) => void
  readonly #options: Options

  /** @param onChange called with the path of an accepted file, of a directory or link without accepted files from now on, or of an added path that is another directory */
  constructor(onChange: Report, onProblem: (error: NodeJS.ErrnoException) => void, options: Options) {
    this.#onChange = onChange
    this.#onProblem = onProblem
    this.#options = options
    this.#ways = new WayWatch(onProblem)
  }

  /** Number of watched directories and symbolic links. */
  get count(): number {
    return this.#watched.size
  }

  /**
   * Watches an absolute path. A tree includes what was added for the same path before. Returns whether the watch is new
   * and the path exists.
   */
  add(path: string, extent: Extent): boolean {
    const known = this.#roots.get(path)
    if (known !== undefined && (known.extent.isTree || !extent.isTree)) return false
    if (known !== undefined) this.#leave(known)
    const root = placeOf(path, extent)
    this.#roots.set(path, root)
    this.#enter(root, () => undefined)
    return statOf(path) !== undefined
  }

  close(): void {
    for (const root of this.#roots.values()) this.#leave(root)
    this.#roots.clear()
  }

  /** Watches a place, and reports its files. */
  #enter(place: Place, report: Report): void {
    const { path, extent, parent } = place
    // Followed first, so that changes after the look are reported.
    if (parent === undefined || isLink(path)) {
      if (!this.#mayWatch(place)) return
      place.leaveWay = this.#ways.follow(path, (event) => this.#wayEvent(place, event))
    }
    const stats = statOf(path)
    place.id = stats && idOf(stats)
    place.bornMs = stats?.birthtimeMs
    if (stats?.isDirectory() !== true) {
      if (stats === undefined || !extent.accepts(path)) return
      place.files.add(basename(path))
      report(path)
      return
    }
    if (parent !== undefined && (!extent.isTree || isLoop(place))) return
    if (!this.#mayWatch(place) || !this.#open(place)) return
    for (const entry of entriesOf(path)) {
      const each = join(path, entry.name)
      if (this.#isSkipped(each)) continue
      if (this.#isPlace(entry, extent)) this.#enterBelow(place, entry.name, report)
      else if (extent.accepts(each)) {
        place.files.add(entry.name)
        report(each)
      }
    }
  }

  #enterBelow(parent: Place, name: string, report: Report): void {
    const place = placeOf(join(parent.path, name), parent.extent, parent)
    parent.below.set(name, place)
    this.#enter(place, report)
  }

  #isPlace(entry: Dirent | Stats, { isTree }: Extent): boolean {
    return entry.isDirectory() ? isTree : this.#options.followsLinks && entry.isSymbolicLink()
  }

  #isSkipped(path: string): boolean {
    return this.#options.isSkipped?.(path) === true
  }

  #mayWatch(place: Place): boolean {
    const { most = Infinity } = this.#options
    if (this.#watched.size >= most && !this.#watched.has(place)) {
      this.#onProblem(new Error(`more than ${most} directories and symbolic links`))
      return false
    }
    this.#watched.add(place)
    return true
  }

  /** Returns whether the directory exists and can be watched. */
  #open(place: Place): boolean {
    const isCovered = WATCHES_TREES && place.leaveWay === undefined && place.parent?.watcher !== undefined
    try {
      place.watcher = isCovered ? place.parent.watcher : this.#watch(place)
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // It was deleted meanwhile; the watch of its parent reports that.
      if (code !== 'ENOENT' && code !== 'ENOTDIR') this.#onProblem(error as NodeJS.ErrnoException)
      return false
    }
  }

  #watch(place: Place): FSWatcher {
    const recursive = WATCHES_TREES && place.extent.isTree
    const watcher = watch(place.path, { persistent: false, recursive }, (type, name) => {
      // A watch of a tree reports paths.
      const at = name === null ? undefined : placeAt(place, dirname(name))
      if (name === null || at === undefined) this.#onChange(place.path)
      else this.#event(at, type, basename(name))
    })
    // Windows reports so that the directory was deleted.
    return watcher.on('error', () => watcher.close())
  }

  #wayEvent(place: Place, event: 'REPLACED' | 'WRITTEN'): void {
    const { path, parent, extent, id, bornMs } = place
    if (event === 'WRITTEN') {
      if (place.watcher === undefined && place.files.size > 0) this.#onChange(path)
      return
    }
    place.leaveWay = this.#ways.follow(path, (next) => this.#wayEvent(place, next))
    if (isSame(place)) return
    // The watch of its directory reports that a link below was deleted.
    if (parent !== undefined && isLink(path)) this.#replaced(parent, basename(path))
    if (parent !== undefined) return
    this.#report(path, place, false, (report) => {
      this.#enter(place, report)
      // An empty directory is a change if it is the added path.
      if ((place.id !== id || place.bornMs !== bornMs) && place.files.size === 0 && extent.accepts(path))
        report(path)
    })
  }

  #event(directory: Place, type: string, name: string): void {
    const path = join(directory.path, name)
    if (this.#isSkipped(path)) return
    if (type === 'rename') this.#replaced(directory, name)
    else if (directory.files.has(name)) this.#onChange(path)
  }

  /** Watches again what a name in a directory stands for, and reports the files that are or were there. */
  #replaced(directory: Place, name: string): void {
    // Something else has its path, which the watches of the way there report.
    const now = statOf(directory.path)
    if (now === undefined || idOf(now) !== directory.id) return
    const { extent, below, files } = directory
    const path = join(directory.path, name)
    const known = below.get(name)
    const stats = lstatOf(path)
    // The parent of a directory reports changes of its mode as well.
    if (known !== undefined && isSame(known)) return
    below.delete(name)
    const hadFile = files.delete(name)
    this.#report(path, known, hadFile, (report) => {
      if (stats === undefined) return
      if (this.#isPlace(stats, extent)) this.#enterBelow(directory, name, report)
      else if (extent.accepts(path)) {
        files.add(name)
        report(path)
      }
    })
  }

  /** Leaves a known place and enters its path again. Reports the path if there were files and are none. */
  #report(path: string, known: Place | undefined, hadFile: boolean, enter: (report: Report) => void): void {
    let isChanged = (known !== undefined && this.#leave(known)) || hadFile
    enter((each) => {
      isChanged = false
      this.#onChange(each)
    })
    if (isChanged) this.#onChange(path)
  }

  /** Returns whether there were accepted files. */
  #leave(place: Place): boolean {
    if (place.watcher !== place.parent?.watcher) place.watcher?.close()
    place.leaveWay?.()
    this.#watched.delete(place)
    const hadFiles =
      [...place.below.values()].map((each) => this.#leave(each)).some(Boolean) || place.files.size > 0
    place.below.clear()
    place.files.clear()
    Object.assign(place, { watcher: undefined, leaveWay: undefined })
    return hadFiles
  }
}

function placeOf(path: string, extent: Extent, parent?: Place): Place {
  return { path, extent, parent, below: new Map(), files: new Set() }
}

/** Whether a place is one of the directories that contain it, through a symbolic link. */
function isLoop({ id, parent }: Place): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (above.id === id) return true
  return false
}

/** Returns the place of a directory; `.` is the given one. */
function placeAt(place: Place, path: string): Place | undefined {
  let at: Place | undefined = place
  for (const name of path.split('/')) if (name !== '.') at = at?.below.get(name)
  return at
}

/** Whether a place certainly has the watched directory or file: the inode of a deleted one may be used again. */
function isSame({ path, id, bornMs, watcher, files }: Place): boolean {
  const stats = watcher !== undefined || files.size > 0 ? statOf(path) : undefined
  // Not every file system has the time of birth.
  return stats !== undefined && idOf(stats) === id && stats.birthtimeMs !== 0 && stats.birthtimeMs === bornMs
}

function idOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

function isLink(path: string): boolean {
  return lstatOf(path)?.isSymbolicLink() === true
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // A directory on the way may not be searched, or links form a circle: nothing can be read there.
    return undefined
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // As for `lstatOf`.
    return undefined
  }
}

function entriesOf(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    // Deleted meanwhile, which its parent reports.
    return []
  }
}
