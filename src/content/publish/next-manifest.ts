import { contentKey, type Manifest, type Published, usedKeys, withForms } from '../publication/manifest.ts'
import { INDEX_FILE } from '../search/search-index.ts'
import type { LocalFile } from './list-folder.ts'
import { isSentCompressed } from './send-contents.ts'

/** Input of the next manifest. */
interface Found {
  readonly before: Manifest
  /** Files of the folder. */
  readonly files: readonly LocalFile[]
  readonly index: Omit<Published, 'modified'>
  /** Whether files that are not in the folder are no longer published. */
  readonly deletes: boolean
  /** Keys of the contents in the store, relative to the manifest's folder. */
  readonly there: ReadonlySet<string>
  readonly nowMs: number
}

/** Returns the manifest that publishes files. It retires all objects that they do not use. */
export function nextManifest({ before, files, index, deletes, there, nowMs }: Found): Manifest {
  const published = new Map<string, Published>(deletes ? [] : before.files)
  const inPlace = new Map(deletes ? [] : before.inPlace)
  const add = (file: Omit<Published, 'modified'>): void => {
    const old = before.files.get(file.path)
    published.set(file.path, { ...file, modified: old?.sha256 === file.sha256 ? old.modified : nowMs })
    inPlace.delete(file.path)
  }
  for (const file of files) {
    const { path, size, sha256 } = file
    add({ path, size, sha256, compressed: isSentCompressed(file) })
  }
  add(index)
  const used = usedKeys({ files: published, inPlace, retired: new Map() })
  const retired = new Map([...before.retired].filter(([key]) => !used.has(key)))
  const unused = [...usedKeys(before), ...indexInPlace(before), ...there].filter((key) => !used.has(key))
  for (const key of unused) if (!retired.has(key)) retired.set(key, nowMs)
  return { files: published, retired, inPlace }
}

/** Returns the key of the index of an earlier version of this program. */
function indexInPlace({ files, inPlace }: Manifest): readonly string[] {
  return inPlace.size > 0 && !files.has(INDEX_FILE) ? [INDEX_FILE] : []
}

/** Returns the paths that are published and not in the folder. */
export function absentPaths({ files, inPlace }: Manifest, local: readonly LocalFile[]): readonly string[] {
  const paths = new Set([...files.keys(), ...inPlace.keys()])
  paths.delete(INDEX_FILE)
  for (const { path } of local) paths.delete(path)
  return [...paths]
}

/** Whether two manifests publish the same files and retire the same objects. */
export function isSameManifest(a: Manifest, b: Manifest): boolean {
  return (
    a.files.size === b.files.size &&
    a.retired.size === b.retired.size &&
    a.inPlace.size === b.inPlace.size &&
    [...a.files.values()].every((file) => isSameFile(file, b.files.get(file.path))) &&
    [...a.retired].every(([key, since]) => b.retired.get(key) === since) &&
    [...a.inPlace].every(([path, isCompressed]) => b.inPlace.get(path) === isCompressed)
  )
}

function isSameFile(a: Published, b: Published | undefined): boolean {
  return a.sha256 === b?.sha256 && a.compressed === b.compressed && a.modified === b.modified
}

/** Returns a file whose content is published unchanged and still in the store. */
export function findUnchanged(
  { files }: Manifest,
  path: string,
  there: ReadonlySet<string>,
): Published | undefined {
  const file = files.get(path)
  if (file === undefined) return undefined
  return withForms(contentKey(file.sha256), file.compressed).every((key) => there.has(key)) ? file : undefined
}
