import { type ByteSource, sourceOf, withFile } from '../../classpath/byte-source.ts'
import { inflateNested } from '../../classpath/nested-archive.ts'
import { readZipDirectory, type ZipEntry } from '../../classpath/zip-directory.ts'
import { stampIfThere } from '../../index/slices.ts'

/** Number of cached archive directories: src.zip has 15,000 entries. */
const MAX_CACHED = 8

type Entries = ReadonlyMap<string, ZipEntry>

const cache = new Map<string, { readonly stamp: string | undefined; readonly entries: Entries }>()

/**
 * Calls `use` with the entries of a zip file, or of a nested one: "app.jar!/lib/a.jar".
 *
 * @throws as node:fs, and Error when the file is not a valid zip file
 */
export function withArchive<Result>(
  location: string,
  use: (entries: Entries, source: ByteSource) => Result,
): Result {
  const [path = '', ...inside] = location.split('!/')
  return withFile(path, (file) => {
    let source = file
    for (const name of inside) {
      const entry = readZipDirectory(source).find((each) => each.name === name)
      if (entry === undefined) throw new Error(`${path} has no entry ${name}`)
      source = sourceOf(inflateNested(source, entry.extent))
    }
    return use(entriesOf(location, path, source), source)
  })
}

function entriesOf(location: string, path: string, source: ByteSource): Entries {
  const stamp = stampIfThere(path)
  const before = cache.get(location)
  if (before !== undefined && before.stamp === stamp) return before.entries
  const entries = new Map(
    readZipDirectory(source)
      .filter(({ isEncrypted }) => !isEncrypted)
      .map((entry) => [entry.name, entry]),
  )
  cache.delete(location)
  cache.set(location, { stamp, entries })
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED) break
    cache.delete(oldest)
  }
  return entries
}
