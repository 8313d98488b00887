import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ByteSource, withFile } from '../classpath/byte-source.ts'
import { type ClassContainer, type ClassEntry, displayPath } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { withNestedArchive } from '../classpath/nested-archive.ts'
import { readExtent } from '../classpath/read-extent.ts'
import { stampIfThere } from '../index/slices.ts'

const MAX_CLASS_BYTES = 2 ** 24
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
    if (entry === undefined) return undefined
    const { extent } = entry
    if (extent === undefined) return readFileSync(join(container.path, entry.file))
    const read = (source: ByteSource): Buffer => readExtent(source, extent, MAX_CLASS_BYTES)
    return container.deflated === undefined
      ? withFile(container.path, read)
      : withNestedArchive(container.path, container.deflated, read)
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
