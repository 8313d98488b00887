import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fault } from '../errors.ts'
import type { OwnPath } from '../own-path.ts'

/** Files that SQLite, locks, rotation, unfinished writes and editors put beside a file. */
const BESIDE = /^(?:-(?:wal|shm|journal)|\.lock|\.\d+|\.[0-9a-f]{12}\.tmp|~|\.(?:bak|backup|old|orig|save))$/i
/** Errors that mean that no file of a folder to publish can be there: they would stop its reading, too. */
const UNREACHABLE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG'])

/** Returns what identifies a file by any of its names: links, bind mounts, names in another case. */
function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`
}

/** Own paths as they are on disk, to compare with what a folder to publish contains. */
export class OwnFiles {
  readonly #folder: string
  /** By real path and by identity. */
  readonly #own: ReadonlyMap<string, OwnPath>

  private constructor(folder: string, own: ReadonlyMap<string, OwnPath>) {
    this.#folder = folder
    this.#own = own
  }

  /**
   * Looks up own paths, with the files beside them.
   *
   * @param folder the folder to publish
   * @throws PUBLISH_INVALID when all of the folder belongs to one of them
   */
  static async find(own: readonly OwnPath[], folder: string): Promise<OwnFiles> {
    const found = new Map<string, OwnPath>()
    for (const each of own)
      for (const place of await placesOf(each.path)) {
        const stats = await orMissing(stat(place, { bigint: true }))
        for (const key of stats === undefined ? [place] : [place, identityOf(stats)])
          if (!found.has(key)) found.set(key, each)
      }
    const real = (await orMissing(realpath(folder))) ?? folder
    for (let above = real; ; above = dirname(above)) {
      const stats = await orMissing(stat(above, { bigint: true }))
      const at = stats === undefined ? undefined : found.get(identityOf(stats))
      if (at !== undefined && (above === real || at.isShared !== true))
        throw fault(
          'PUBLISH_INVALID',
          `the folder ${folder} cannot be published: the server uses ${at.path} (${at.use}); publish another folder, or change this setting`,
        )
      if (above === dirname(above)) return new OwnFiles(real, found)
    }
  }

  /** Returns the use of a file or folder. @param path relative to the folder to publish */
  useOf(path: string, stats: { readonly dev: bigint; readonly ino: bigint }): string | undefined {
    return (this.#own.get(join(this.#folder, path)) ?? this.#own.get(identityOf(stats)))?.use
  }
}

/** Returns the names of a file under its own and its real location, and those of the files beside it. */
async function placesOf(path: string): Promise<readonly string[]> {
  const real = await orMissing(realpath(path))
  const places: string[] = []
  for (const each of new Set([path, real ?? path])) {
    const folder = await orMissing(realpath(dirname(each)))
    if (folder === undefined) continue
    const name = basename(each)
    const isFolder = (await orMissing(stat(each)))?.isDirectory() === true
    const beside = (isFolder ? [] : ((await orMissing(readdir(folder))) ?? [])).filter(
      (other) =>
        // Names in another case are the same on some file systems.
        other.toLowerCase().startsWith(name.toLowerCase()) && BESIDE.test(other.slice(name.length)),
    )
    places.push(...[name, ...beside].map((found) => join(folder, found)))
  }
  return places
}

async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (UNREACHABLE.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
