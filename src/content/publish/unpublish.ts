import { fault } from '../errors.ts'
import { isRepoName, META_FILE, type Repo } from '../repo/meta.ts'
import { mapConcurrently, REPOS } from '../repo/repo-list.ts'
import { INDEX_FILE } from '../search/search-index.ts'
import type { Store } from '../store/store.ts'
import { MANIFEST_FILE, objectsOf, readManifest } from './manifest.ts'
import { readMeta, writeMeta } from './stored-meta.ts'

const PARALLEL = 16

/** Result of an unpublish. */
export interface UnpublishResult {
  readonly repo: string
  readonly version: string | undefined
  readonly deleted: number
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
  const folders = [...there]
    .filter((key) => key.endsWith(`/${MANIFEST_FILE}`))
    .map((key) => key.slice(0, -MANIFEST_FILE.length))
    .filter((folder) => isPublishTarget(folder.slice(target.length)))
  const isListed = there.has(`${root}${META_FILE}`)
  if (folders.length === 0 && !isListed)
    throw fault(
      'PUBLISH_INVALID',
      `nothing is published as "${repo}"${version === undefined ? '' : `, version "${version}"`}`,
    )

  if (version === undefined) await store.remove(`${root}${META_FILE}`)
  else await removeVersion(store, root, repo, version)
  let deleted = 0
  for (const folder of folders) {
    const written = [...(await readManifest(store, folder))].flatMap(objectsOf)
    const keys = [INDEX_FILE, ...written].map((path) => folder + path).filter((key) => there.has(key))
    await mapConcurrently(PARALLEL, keys, (key) => store.remove(key))
    await store.remove(folder + MANIFEST_FILE)
    for (const key of [...keys, folder + MANIFEST_FILE]) there.delete(key)
    deleted += keys.length
  }
  there.delete(`${root}${META_FILE}`)
  return { repo, version, deleted, kept: [...there] }
}

/** Whether a path is the repository's root, or a version directly below it. */
function isPublishTarget(below: string): boolean {
  return below === '' || (below.endsWith('/') && isRepoName(below.slice(0, -1)))
}

/**
 * Removes a version from the repository's metadata, and the metadata itself if neither versions nor pages are left.
 */
async function removeVersion(store: Store, root: string, repo: string, version: string): Promise<void> {
  const { versions = [], latest, ...old } = await readMeta(store, repo, root)
  const left = versions.filter((each) => each !== version)
  const [newest] = left
  const hasOwnPages = (await readManifest(store, root)).size > 0
  if (newest === undefined && !hasOwnPages) return store.remove(`${root}${META_FILE}`)
  const next = latest === version ? newest : latest
  const meta: Repo = {
    ...old,
    ...(newest !== undefined && { versions: left }),
    ...(next !== undefined && { latest: next }),
  }
  await writeMeta(store, root, meta)
}
