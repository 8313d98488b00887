import type { Repo } from '../repo/meta.ts'
import { versionNamed } from '../repo/versions.ts'
import { INDEX_FILE } from './search-index.ts'

/** A repository or version with its search index. */
export interface Target {
  readonly repo: string
  readonly version: string | undefined
  readonly folder: readonly string[]
  /** Key of the index. */
  readonly key: string
}

/**
 * Returns the folders to search: the newest version of each repository, or the given one.
 *
 * @param only searches this repository alone
 */
export function targetsOf(
  repos: ReadonlyMap<string, Repo>,
  only?: string,
  version?: string,
): readonly Target[] {
  const chosen = only === undefined ? [...repos.values()] : [repos.get(only) ?? []].flat()
  return chosen.flatMap((repo) => {
    const { name, latest } = repo
    // There is nothing to search by default.
    if (only === undefined && version === undefined && repo.hasOnlyPreviews === true) return []
    const wanted = version === undefined ? latest : versionNamed(repo, version)
    if (version !== undefined && wanted === undefined) return []
    const folder = wanted === undefined ? ['repos', name] : ['repos', name, wanted]
    return [{ repo: name, version: wanted, folder, key: keyOf(folder) }]
  })
}

/** Returns all folders of a repository that may have an index. */
export function foldersOf({ name, latest, versions = [] }: Repo): readonly (readonly string[])[] {
  const all = latest === undefined ? versions : [latest, ...versions]
  return [['repos', name], ...all.map((version) => ['repos', name, version])]
}

/** Returns the key of the index of a folder. */
export function keyOf(folder: readonly string[]): string {
  return `${folder.join('/')}/${INDEX_FILE}`
}
