import { type ClassContainer, type ClassEntry, displayPath } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { readClassBytes } from '../classpath/read-class-bytes.ts'
import { stampIfThere } from '../index/slices.ts'

/** Maximum number of cached listings; a JDK's image is one. */
const MAX_CACHED = 16

interface CachedListing {
  readonly stamp: string | undefined
  readonly container: ClassContainer
  readonly classes: ReadonlyMap<string, ClassEntry>
}

/** Reads class files at the locations in the index. */
export class ClassBytes {
  readonly #release: number
  readonly #cache = new Map<string, CachedListing>()

  /** @param release for multi-release archives */
  constructor(release: number) {
    this.#release = release
  }

  /** Returns the bytes of a class at a location, by its internal name; undefined if it does not exist. */
  read(location: string, name: string): Uint8Array | undefined {
    const { container, classes } = this.#listed(location)
    const entry = classes.get(name)
    return entry === undefined ? undefined : readClassBytes(container, entry)
  }

  /** Returns the names of a class and, according to their names, its nested classes, sorted. */
  namesWithin(location: string, outermost: string): readonly string[] {
    const inside = `${outermost}$`
    const { classes } = this.#listed(location)
    return [...classes.keys()].filter((name) => name === outermost || name.startsWith(inside)).toSorted()
  }

  /** Returns the module of a class in a JDK's image. */
  moduleOf(location: string, name: string): string | undefined {
    return this.#listed(location).classes.get(name)?.module
  }

  #listed(location: string): CachedListing {
    const [path = ''] = location.split('!/')
    const stamp = stampIfThere(path)
    const before = this.#cache.get(location)
    // A folder's time does not change with the files below it.
    if (before !== undefined && before.stamp === stamp && before.container.kind !== 'folder') return before
    const { containers, problems } = listClasses(path, this.#release)
    const container = containers.find((each) => displayPath(each) === location)
    if (container === undefined)
      throw new Error(`${location} cannot be read: ${problems[0]?.message ?? 'it no longer exists'}`)
    const listed = {
      stamp,
      container,
      classes: new Map(container.classes.map((entry) => [entry.name, entry])),
    }
    this.#cache.delete(location)
    this.#cache.set(location, listed)
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= MAX_CACHED) break
      this.#cache.delete(oldest)
    }
    return listed
  }
}
