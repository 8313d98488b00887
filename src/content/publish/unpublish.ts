import { fault } from '../errors.ts'
import { isRepoName, META_FILE, type Repo } from '../repo/meta.ts'
import { mapConcurrently, REPOS } from '../repo/repo-list.ts'
import { latestOf } from '../repo/versions.ts'
import { INDEX_FILE } from '../search/search-index.ts'
import type { Store } from '../store/store.ts'
import { CONTENTS, isContentKey } from '../publication/content-key.ts'
import { KeySet } from '../publication/key-set.ts'
import { MANIFEST_FILE, usedKeys } from '../publication/manifest.ts'
import { readManifest } from '../publication/stored-manifest.ts'
import { changeMeta, readMeta } from '../repo/stored-meta.ts'

const PARALLEL = 16

/** A removal of a repository or version. */
interface Removal {
  readonly store: Store
  readonly repo: string
  readonly root: string
  /** Undefined: the repository. */
  readonly version: string | undefined
}

/** Result of an unpublish. */
export interface UnpublishResult {
  readonly repo: string
  readonly version: string | undefined
  readonly deleted: number
  /** Aliases of the version, which no longer exist. */
  readonly removedAliases: readonly string[]
  /** Keys below the repository or version that were not published by this program and are kept. */
  readonly kept: readonly string[]
}

/**
 * Removes a published repository or a version of one. The site stops listing it first, and the list of
 * published files is deleted last. Meanwhile `_meta.json` names what is being removed, and nobody publishes that. Repeat
 * an interrupted removal.
 *
 * @throws PUBLISH_INVALID when nothing is published under the name
 * @throws PUBLISH_CONFLICT when other processes change the repository all the time
 */
export async function unpublish(
  { repo, version }: { readonly repo: string; readonly version?: string | undefined },
  store: Store,
): Promise<UnpublishResult> {
  for (const name of [repo, version ?? repo])
    if (!isRepoName(name))
      throw fault('PUBLISH_INVALID', `"${name}" cannot be the name of a repository or version`)
  const removal: Removal = { store, repo, root: `${REPOS}${repo}/`, version }
  const target = version === undefined ? removal.root : `${removal.root}${version}/`
  if (!(await isPublished(removal, target)))
    throw fault(
      'PUBLISH_INVALID',
      `nothing is published as "${repo}"${version === undefined ? '' : `, version "${version}"`}`,
    )
  const removedAliases = await beginRemoval(removal)
  // After that: a publish may have ended just before.
  const there = await keysBelow(store, target)
  let deleted = 0
  for (const folder of foldersOf(there, target)) {
    const keys = await removeFolder(store, folder, there, () => isStillRemoved(removal))
    for (const key of [...keys, folder + MANIFEST_FILE]) there.delete(key)
    deleted += keys.length
  }
  await endRemoval(removal)
  there.delete(`${removal.root}${META_FILE}`)
  return { repo, version, deleted, removedAliases, kept: [...there] }
}

async function isPublished({ store, repo, root, version }: Removal, target: string): Promise<boolean> {
  const there = await keysBelow(store, target)
  if (foldersOf(there, target).length > 0 || there.has(`${root}${META_FILE}`)) return true
  if (version === undefined) return false
  const { versions = [], removing = [] } = await readMeta(store, repo, root)
  return versions.includes(version) || removing.includes(version)
}

async function keysBelow(store: Store, target: string): Promise<Set<string>> {
  const there = new Set<string>()
  for await (const { key } of store.list(target)) there.add(key)
  return there
}

/**
 * Deletes what was published into a folder, the list of files last. Returns the deleted keys.
 *
 * @param mayDelete asked right before each few deletions; stops them
 */
export async function removeFolder(
  store: Store,
  folder: string,
  there: ReadonlySet<string>,
  mayDelete: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<readonly string[]> {
  const keys = await publishedKeys(store, folder, there)
  for (let first = 0; first < keys.length; first += PARALLEL) {
    if (!(await mayDelete())) return keys.slice(0, first)
    await mapConcurrently(PARALLEL, keys.slice(first, first + PARALLEL), (key) => store.remove(key))
  }
  if (await mayDelete()) await store.remove(folder + MANIFEST_FILE)
  return keys
}

/** Returns the folders that were published, completely or not. */
function foldersOf(keys: ReadonlySet<string>, target: string): readonly string[] {
  const folders = new Set<string>()
  for (const key of keys) {
    const at = key.endsWith(`/${MANIFEST_FILE}`) ? key.length - MANIFEST_FILE.length : contentsAt(key)
    if (at !== -1 && isPublishTarget(key.slice(target.length, at))) folders.add(key.slice(0, at))
  }
  return [...folders]
}

/** Returns the position of the folder of contents in the key of one; -1 in other keys. */
function contentsAt(key: string): number {
  const at = key.lastIndexOf(`/${CONTENTS}`) + 1
  return at > 0 && isContentKey(key.slice(at)) ? at : -1
}

/** Returns the keys of all objects that publishing wrote into a folder, except the manifest. */
async function publishedKeys(
  store: Store,
  folder: string,
  there: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { manifest } = await readManifest(store, folder)
  const written = new KeySet(usedKeys(manifest))
  for (const key of [INDEX_FILE, ...manifest.retired.keys()]) written.add(key)
  return [...there].filter((key) => {
    const path = key.startsWith(folder) ? key.slice(folder.length) : ''
    return written.has(path) || isContentKey(path)
  })
}

/** Whether a path is the repository's root, or a version directly below it. */
function isPublishTarget(below: string): boolean {
  return below === '' || (below.endsWith('/') && isRepoName(below.slice(0, -1)))
}

/**
 * Marks what is being removed in the metadata, and removes it from the lists there. Returns the aliases of a version,
 * which are removed too.
 */
async function beginRemoval({ store, repo, root, version }: Removal): Promise<readonly string[]> {
  let removed: readonly string[] = []
  const change = (old: Repo): Repo => {
    if (version === undefined || old.removing === 'all') return { name: repo, removing: 'all' }
    const {
      versions = [],
      latest,
      aliases = new Map<string, string>(),
      expires,
      removing = [],
      ...rest
    } = old
    removed = [...aliases].flatMap(([alias, of]) => (of === version ? [alias] : []))
    const left = versions.filter((each) => each !== version)
    const ends = new Map([...(expires ?? [])].filter(([of]) => of !== version))
    const next = latest === version ? latestOf({ versions: left, expires: ends }) : latest
    return {
      ...rest,
      ...(left.length > 0 && { versions: left }),
      ...(next !== undefined && { latest: next }),
      aliases: new Map([...aliases].filter(([, of]) => of !== version)),
      expires: ends,
      removing: [...new Set(removing).add(version)],
    }
  }
  await changeMeta(store, { name: repo, root, isRemoval: version === undefined, change })
  return removed
}

/** Whether nobody else has completed the removal, after which it may be published again. */
async function isStillRemoved({ store, repo, root, version }: Removal): Promise<boolean> {
  const { removing = [] } = await readMeta(store, repo, root)
  return removing === 'all' || (version !== undefined && removing.includes(version))
}

/** Removes the mark, and the metadata itself if neither versions nor pages are left. */
async function endRemoval({ store, repo, root, version }: Removal): Promise<void> {
  const change = async (old: Repo): Promise<Repo | 'same'> => {
    if (version === undefined || old.removing === 'all') return 'same'
    const { versions = [], removing = [] } = old
    const { files, inPlace } = (await readManifest(store, root)).manifest
    const left = removing.filter((each) => each !== version)
    if (versions.length + left.length + files.size + inPlace.size === 0)
      return { name: repo, removing: 'all' }
    return left.length === removing.length ? 'same' : { ...old, removing: left }
  }
  const { removing } = await changeMeta(store, { name: repo, root, isRemoval: true, change })
  // Nobody else writes it then.
  if (removing === 'all') await store.remove(`${root}${META_FILE}`)
}
