import { ObjectCache } from '../../../src/content/cache/object-cache.ts'
import { PageFinder } from '../../../src/content/page/find-page.ts'
import { VersionPaths } from '../../../src/content/page/version-path.ts'
import { Publications } from '../../../src/content/publication/publications.ts'
import { SiteObjects } from '../../../src/content/publication/site-objects.ts'
import { CachedMetas } from '../../../src/content/repo/cached-metas.ts'
import { RepoList } from '../../../src/content/repo/repo-list.ts'
import type { FsStore } from '../../../src/content/store/fs-store.ts'

const clock = { nowMs: () => 0, wallMs: () => 0 }
const LIMITS = { ttlMs: 1, negativeTtlMs: 1, maxBytes: 1_000_000, maxObjectBytes: 100_000 }

/** Grants of a reader who may read everything. */
export const ALL_GRANTS = { hasSite: true, mayRead: () => true }

/** Returns the router of a server with empty caches, whose entries never expire. */
export function routerOf(store: FsStore): PageFinder {
  const cache = new ObjectCache(store, LIMITS, clock)
  const metas = new CachedMetas(cache, LIMITS.ttlMs, clock)
  const objects = new SiteObjects(cache, new Publications(store, LIMITS, clock), metas)
  const repos = new RepoList(store, clock, LIMITS.ttlMs, () => Promise.resolve(true))
  return new PageFinder(objects, repos, new VersionPaths(metas))
}
