import type { CachedMetas } from '../repo/cached-metas.ts'
import { isRepoName, type Repo } from '../repo/meta.ts'
import { versionNamed } from '../repo/versions.ts'
import { repoOf, type RequestPath } from './request-path.ts'

/** A path in which an alias is replaced by its version. */
export interface VersionPath {
  readonly path: RequestPath
  /** Whether the path is in a listed version. */
  readonly isVersion: boolean
}

/** Replaces aliases of versions in paths: `/repos/guide/stable/x` becomes `/repos/guide/2.0/x`. */
export class VersionPaths {
  readonly #metas: CachedMetas

  constructor(metas: CachedMetas) {
    this.#metas = metas
  }

  /** Returns the path with its version if the repository's metadata is in memory; undefined if the store must be asked. */
  fresh(path: RequestPath): VersionPath | undefined {
    const name = versionedRepo(path)
    if (name === undefined) return { path, isVersion: false }
    const meta = this.#metas.fresh(name)
    return meta && inVersion(path, meta)
  }

  /** Returns the version of a path that names it by an alias, if the repository's metadata is in memory. */
  aliased(path: RequestPath): string | undefined {
    const found = this.fresh(path)
    return found === undefined || found.path === path ? undefined : found.path.segments[2]
  }

  /** Returns the path with its version, asking the store if necessary. */
  async resolve(path: RequestPath): Promise<VersionPath> {
    const name = versionedRepo(path)
    if (name === undefined) return { path, isVersion: false }
    return inVersion(path, await this.#metas.lookUp(name))
  }
}

/** Returns the repository of a path that may be in a version; undefined for other paths. */
function versionedRepo({ segments }: RequestPath): string | undefined {
  return segments.length > 2 && isRepoName(segments[2] ?? '') ? repoOf(segments) : undefined
}

function inVersion(path: RequestPath, meta: Repo): VersionPath {
  const [repos = '', name = '', asked = '', ...rest] = path.segments
  const version = versionNamed(meta, asked)
  if (version === undefined || version === asked) return { path, isVersion: version !== undefined }
  return { path: { ...path, segments: [repos, name, version, ...rest] }, isVersion: true }
}
