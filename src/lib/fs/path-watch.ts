import {
  type Dirent,
  type FSWatcher,
  lstatSync,
  readdirSync,
  realpathSync,
  type Stats,
  statSync,
  watch,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../errors/message.ts'
import { isWithin } from './is-within.ts'
import { WayWatch } from './way-watch.ts'

/**
 * Whether the system watches trees. Linux watches only single directories; Node.js emulates trees there by
 * watching each file.
 */
const WATCHES_TREES = process.platform === 'darwin' || process.platform === 'win32'
/** Half of `fs.inotify.max_queued_events`, above which Linux drops events; Node.js does not report that. */
const MOST_EVENTS = 8192
/** After so many events, the paths are read again when fewer have arrived for so long. */
const QUIET_MS = 100

/** The watched files at and below a path. */
interface Extent {
  /** Whether the contents of subdirectories belong to it. */
  readonly isTree: boolean
  /** Whether a file does; without a tree, also asked for a subdirectory. */
  readonly accepts: (path: string, isDirectory: boolean) => boolean
}

/** An added path, or a directory or symbolic link below one. */
interface Place {
  readonly path: string
  readonly extent: Extent
  readonly parent: Place | undefined
  /** Whether the way to it is watched: for an added path and a symbolic link. Its directory watches others. */
  readonly hasWay: boolean
  /** Its path without symbolic links. */
  real: string
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
  /** Number of events since the event loop turned. */
  #events = 0
  #renewal: NodeJS.Timeout | undefined

  /**
   * @param onChange called with the path of an accepted file, of a directory or link without accepted files from now
   * on, or of an added path that is another directory
   * @param onProblem called with the reason why something is not watched
   */
  constructor(onChange: Report, onProblem: (why: string) => void, options: Options) {
    this.#onChange = onChange
    this.#onProblem = (error) => onProblem(problemOf(error))
    this.#options = options
    this.#ways = new WayWatch(this.#onProblem)
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
    const root = rootOf(path, extent)
    this.#roots.set(path, root)
    this.#enter(root, () => undefined)
    return statOf(path) !== undefined
  }

  close(): void {
    clearTimeout(this.#renewal)
    for (const root of this.#roots.values()) this.#leave(root)
    this.#roots.clear()
  }

  /** Watches a place, and reports its files. Links below are followed last: they could use up the maximum. */
  #enter(place: Place, report: Report): void {
    const places = [place]
    for (const each of places) this.#enterFirst(each, places, report)
  }

  #enterFirst(place: Place, later: Place[], report: Report): void {
    const { path, extent, parent, hasWay } = place
    if (hasWay && !this.#follow(place)) return
    const stats = statOf(path)
    place.id = stats && idOf(stats)
    place.bornMs = stats?.birthtimeMs
    if (stats?.isDirectory() !== true) {
      if (stats === undefined || !extent.accepts(path, false)) return
      place.files.add(basename(path))
      report(path)
      return
    }
    if (parent !== undefined && (!extent.isTree || isLoop(place))) return
    if (!this.#mayWatch(place) || !this.#open(place)) return
    for (const entry of entriesOf(path)) {
      const each = join(path, entry.name)
      if (this.#isSkipped(each)) continue
      if (this.#isPlace(entry, extent)) {
        const below = placeBelow(place, entry.name, entry)
        if (below.hasWay) later.push(below)
        else this.#enterFirst(below, later, report)
      } else if (extent.accepts(each, entry.isDirectory())) {
        place.files.add(entry.name)
        report(each)
      }
    }
  }

  /** Watches the way to a place: before a look at it, so that changes after the look are reported. */
  #follow(place: Place): boolean {
    if (!this.#mayWatch(place)) return false
    place.leaveWay = this.#ways.follow(place.path, (event) => this.#wayEvent(place, event))
    place.real = realOf(place.path)
    return true
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
    const isCovered = WATCHES_TREES && !place.hasWay && place.parent?.watcher !== undefined
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
      if (this.#events++ === 0) setImmediate(() => this.#turned())
      // A watch of a tree reports paths.
      const at = name === null ? undefined : placeAt(place, dirname(name))
      if (name === null || at === undefined) this.#onChange(place.path)
      else this.#event(at, type, basename(name))
    })
    // Windows reports so that the directory was deleted.
    return watcher.on('error', () => watcher.close())
  }

  /** Reads all paths again after so many events in one turn of the event loop that some may be lost. */
  #turned(): void {
    const isMany = this.#events > MOST_EVENTS
    this.#events = 0
    if (!isMany) return
    clearTimeout(this.#renewal)
    this.#renewal = setTimeout(() => this.#renew(), QUIET_MS).unref()
  }

  #renew(): void {
    for (const [path, root] of this.#roots) {
      this.#leave(root)
      this.#enter(root, () => undefined)
      this.#onChange(path)
    }
  }

  #wayEvent(place: Place, event: 'REPLACED' | 'WRITTEN'): void {
    // The same event of a place above may have left this one.
    if (!this.#watched.has(place)) return
    const { path, parent, extent, id, bornMs, real } = place
    if (event === 'WRITTEN') {
      if (place.watcher === undefined && place.files.size > 0) this.#onChange(path)
      return
    }
    place.leaveWay = this.#ways.follow(path, (next) => this.#wayEvent(place, next))
    if (isSame(place)) return
    if (parent !== undefined) {
      this.#replaced(parent, basename(path))
      return
    }
    this.#report(path, place, false, (report) => {
      this.#enter(place, report)
      // An empty directory is a change if it is the added path.
      const isOther = place.id !== id || place.bornMs !== bornMs || place.real !== real
      if (isOther && place.files.size === 0 && extent.accepts(path, place.watcher !== undefined)) report(path)
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
    if (known?.hasWay === stats?.isSymbolicLink() && known !== undefined && isSame(known)) return
    below.delete(name)
    const hadFile = files.delete(name)
    this.#report(path, known, hadFile, (report) => {
      if (stats === undefined) return
      if (this.#isPlace(stats, extent)) this.#enter(placeBelow(directory, name, stats), report)
      else if (extent.accepts(path, stats.isDirectory())) {
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

function rootOf(path: string, extent: Extent): Place {
  return { path, extent, parent: undefined, hasWay: true, real: path, below: new Map(), files: new Set() }
}

/** Adds a directory or symbolic link to those below a directory. */
function placeBelow(parent: Place, name: string, entry: Dirent | Stats): Place {
  const place = {
    path: join(parent.path, name),
    extent: parent.extent,
    parent,
    hasWay: entry.isSymbolicLink(),
    real: join(parent.real, name),
    below: new Map(),
    files: new Set<string>(),
  }
  parent.below.set(name, place)
  return place
}

/** Whether a link stands for a directory that contains it, perhaps through other links. */
function isLoop({ real, hasWay, parent }: Place): boolean {
  for (let above = hasWay ? parent : undefined; above !== undefined; above = above.parent)
    if (isWithin(above.real, real)) return true
  return false
}

/** Returns the place of a directory; `.` is the given one. */
function placeAt(place: Place, path: string): Place | undefined {
  let at: Place | undefined = place
  for (const name of path.split('/')) if (name !== '.') at = at?.below.get(name)
  return at
}

/** Whether a place certainly has the watched directory or file: the inode of a deleted one may be used again. */
function isSame({ path, id, bornMs, watcher, files, hasWay, real }: Place): boolean {
  const stats = watcher !== undefined || files.size > 0 ? statOf(path) : undefined
  if (stats === undefined || idOf(stats) !== id || (hasWay && realOf(path) !== real)) return false
  // Not every file system has the time of birth.
  return stats.birthtimeMs !== 0 && stats.birthtimeMs === bornMs
}

function idOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

/** Returns a path without symbolic links; the same if there is nothing. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // As for `lstatOf`.
    return path
  }
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

function problemOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOSPC' || error.code === 'EMFILE')
    return 'the limit of watched directories is reached; raise fs.inotify.max_user_watches'
  return messageOf(error)
}
