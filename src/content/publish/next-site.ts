import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Grants } from '../access/grants.ts'
import { ObjectCache } from '../cache/object-cache.ts'
import { PageFinder } from '../page/find-page.ts'
import { MAX_REDIRECTS_BYTES, REDIRECTS_FILE } from '../page/redirect-rules.ts'
import { parsePath, type RequestPath } from '../page/request-path.ts'
import { VersionPaths } from '../page/version-path.ts'
import { contentKey, isContentKey } from '../publication/content-key.ts'
import { KeySet } from '../publication/key-set.ts'
import { formatManifest, type Manifest, MANIFEST_FILE, usedKeys } from '../publication/manifest.ts'
import { Publications } from '../publication/publications.ts'
import { readManifest } from '../publication/stored-manifest.ts'
import { SiteObjects } from '../publication/site-objects.ts'
import { CachedMetas } from '../repo/cached-metas.ts'
import { META_FILE, type Repo } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { versionNamed } from '../repo/versions.ts'
import { formatChecked } from '../repo/stored-meta.ts'
import type { OpenedObject, ReadableStore, Store } from '../store/store.ts'
import { type LocalFile, locationOf } from './list-folder.ts'

/** Matches a key in the folder of a repository or version that is a name for servers. */
const FOLDER = /^repos\/[^/]+\/(?:[^/]+\/)?(_.*)$/
const CACHE_BYTES = 16 * 2 ** 20
const NEVER = Number.POSITIVE_INFINITY
const LIMITS = {
  ttlMs: NEVER,
  negativeTtlMs: NEVER,
  maxBytes: CACHE_BYTES,
  maxObjectBytes: MAX_REDIRECTS_BYTES,
}

/** Grants of the publisher, who checks all pages of the repository. */
export const ALL_GRANTS: Grants = { hasSite: true, mayRead: () => true }

/** A publication that is about to be made. */
interface Next {
  readonly store: Store
  readonly nowMs: number
  /** Folder of the publication in the store. */
  readonly target: string
  /** Metadata of the repository after the publish. */
  readonly meta: Repo
  readonly manifest: Manifest
  /** Files that are to be sent. */
  readonly files: readonly LocalFile[]
  readonly publicUrl: string | undefined
}

/** A repository as it is after a publish. */
export interface NextSite {
  /** Segments of the path of the publication. */
  readonly folder: readonly string[]
  readonly finder: PageFinder
  /** Returns the path of a URL of the site; undefined for other sites. */
  readonly pathOf: (url: string) => RequestPath | undefined
  /** Returns the paths of files in the folder. */
  readonly paths: () => Iterable<string>
  /** Versions in the folder. */
  readonly versions: readonly string[]
  /** Returns the paths of files in the version that has a name or alias in the folder; undefined without one. */
  readonly pathsInVersion: (name: string) => Promise<Iterable<string> | undefined>
}

/**
 * Resolves the paths of a repository as servers will after a publish: with their code, on a store that contains the
 * next publication. Objects that other programs put into the store are missing in it, and pages are empty.
 */
export async function openNextSite(next: Next): Promise<NextSite> {
  const { meta, nowMs, target, manifest, publicUrl } = next
  const store = await nextStore(next)
  const clock = { nowMs: () => 0, wallMs: () => nowMs }
  const cache = new ObjectCache(store, LIMITS, clock)
  const metas = new CachedMetas(cache, LIMITS.ttlMs, clock)
  const objects = new SiteObjects(cache, new Publications(store, LIMITS, clock), metas)
  const repos = { read: () => Promise.resolve(new Map([[meta.name, meta]])) }
  const root = `${REPOS}${meta.name}/`
  return {
    folder: target.slice(0, -1).split('/'),
    finder: new PageFinder(objects, repos, new VersionPaths(metas)),
    pathOf(address) {
      const url = new URL(address)
      const isHere = publicUrl !== undefined && url.origin === new URL(publicUrl).origin
      return isHere ? parsePath(url.pathname) : undefined
    },
    paths: () => pathsOf(manifest, ''),
    versions: target === root ? (meta.versions ?? []) : [],
    async pathsInVersion(name) {
      const version = target === root ? versionNamed(meta, name) : undefined
      if (version === undefined) return undefined
      return pathsOf((await readManifest(next.store, `${root}${version}/`)).manifest, `${name}/`)
    },
  }
}

function* pathsOf({ files }: Manifest, before: string): Generator<string> {
  for (const { path } of files.values()) yield before + path
}

async function nextStore({ store, target, meta, manifest, files }: Next): Promise<ReadableStore> {
  const written = new Map<string, Buffer>([
    [`${REPOS}${meta.name}/${META_FILE}`, formatChecked(meta)],
    [target + MANIFEST_FILE, formatManifest(manifest)],
  ])
  const contents = new KeySet(usedKeys(manifest))
  const rulesKey = rulesKeyOf(target, manifest)
  const local = files.find(({ path }) => path === REDIRECTS_FILE)
  if (rulesKey !== undefined && local !== undefined) written.set(rulesKey, await readFile(locationOf(local)))
  return {
    async open(key, options) {
      const bytes = written.get(key)
      if (bytes !== undefined) return opened(key, bytes)
      if (key !== rulesKey && key.startsWith(target) && contents.has(key.slice(target.length)))
        return opened(key, Buffer.alloc(0))
      return isForServers(key) ? store.open(key, options) : 'missing'
    },
  }
}

/** Returns the key of the content of the file of redirects. */
function rulesKeyOf(target: string, { files }: Manifest): string | undefined {
  for (const { path, sha256 } of files.values())
    if (path === REDIRECTS_FILE) return target + contentKey(sha256)
  return undefined
}

/** Whether a key is that of metadata, a manifest, or a content that one names. */
function isForServers(key: string): boolean {
  const path = FOLDER.exec(key)?.[1]
  return path === META_FILE || path === MANIFEST_FILE || (path !== undefined && isContentKey(path))
}

function opened(key: string, bytes: Buffer): OpenedObject {
  return {
    key,
    size: bytes.length,
    etag: '"next"',
    lastModifiedMs: 0,
    contentType: undefined,
    contentEncoding: undefined,
    body: Readable.from(bytes.length === 0 ? [] : [bytes]),
  }
}
