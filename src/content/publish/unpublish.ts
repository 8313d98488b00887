import { fault } from '../errors.ts'
import { isRepoName, META_FILE, type Repo } from '../repo/meta.ts'
import { mapConcurrently, REPOS } from '../repo/repo-list.ts'
import { latestOf } from '../repo/versions.ts'
import { INDEX_FILE } from '../search/search-index.ts'
import type { Store } from '../store/store.ts'
import { CONTENTS, isContentKey, MANIFEST_FILE, usedKeys } from '../publication/manifest.ts'
import { readManifest } from '../publication/stored-manifest.ts'
import { readMeta, writeMeta } from '../repo/stored-meta.ts'

const PARALLEL = 16

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
 * published files is deleted last. Repeat an interrupted removal.
 *
 * @throws PUBLISH_INVALID when nothing is published under the name
 */
export async function unpublish(
  { repo, version }: { readonly repo: string; readonly version?: string | undefined },
  store: Store,
): Promise<UnpublishResult> {
  for (const name of [repo, version ?? repo])
    if (!isRepoName(name))
      throw fault('PUBLISH_INVALID', `"${name}" cannot be the name of a repository or version`)
  const root = `${REPOS}${repo}/`
  const target = version === undefined ? root : `${root}${version}/`
  const there = new Set<string>()
  for await (const { key } of store.list(target)) there.add(key)
  const folders = foldersOf(there, target)
  const isListed = there.has(`${root}${META_FILE}`)
  if (folders.length === 0 && !isListed)
    throw fault(
      'PUBLISH_INVALID',
      `nothing is published as "${repo}"${version === undefined ? '' : `, version "${version}"`}`,
    )

  let removedAliases: readonly string[] = []
  if (version === undefined) await store.remove(`${root}${META_FILE}`)
  else removedAliases = await removeVersion(store, root, repo, version)
  let deleted = 0
  for (const folder of folders) {
    const keys = await publishedKeys(store, folder, there)
    await mapConcurrently(PARALLEL, keys, (key) => store.remove(key))
    await store.remove(folder + MANIFEST_FILE)
    for (const key of [...keys, folder + MANIFEST_FILE]) there.delete(key)
    deleted += keys.length
  }
  there.delete(`${root}${META_FILE}`)
  return { repo, version, deleted, removedAliases, kept: [...there] }
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
  const written = new Set([INDEX_FILE, ...usedKeys(manifest), ...manifest.retired.keys()])
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
 * Removes a version with its aliases from the repository's metadata, and the metadata itself if neither versions nor
 * pages are left. Returns the aliases.
 */
async function removeVersion(
  store: Store,
  root: string,
  repo: string,
  version: string,
): Promise<readonly string[]> {
  const {
    versions = [],
    latest,
    aliases = new Map<string, string>(),
    ...old
  } = await readMeta(store, repo, root)
  const left = versions.filter((each) => each !== version)
  const removed = [...aliases].flatMap(([alias, of]) => (of === version ? [alias] : []))
  const { files, inPlace } = (await readManifest(store, root)).manifest
  const hasOwnPages = files.size + inPlace.size > 0
  if (left.length === 0 && !hasOwnPages) {
    await store.remove(`${root}${META_FILE}`)
    return removed
  }
  const next = latest === version ? latestOf(left) : latest
  const meta: Repo = {
    ...old,
    ...(left.length > 0 && { versions: left }),
    ...(next !== undefined && { latest: next }),
    aliases: new Map([...aliases].filter(([, of]) => of !== version)),
  }
  await writeMeta(store, root, meta)
  return removed
}
