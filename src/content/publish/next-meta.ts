import { fault } from '../errors.ts'
import { isExpired } from '../repo/expiry.ts'
import { LATEST, type Repo } from '../repo/meta.ts'
import { REPOS } from '../repo/repo-list.ts'
import { changeMeta, formatChecked, readMeta } from '../repo/stored-meta.ts'
import { latestOf } from '../repo/versions.ts'
import type { Store } from '../store/store.ts'
import { keptMs } from './sweep.ts'

const MAX_EXPIRES_DAYS = 3_650
const DAY_MS = 86_400_000

/** Metadata in the request for a publish. */
interface PublishedMeta {
  readonly repo: string
  readonly version?: string | undefined
  readonly aliases?: readonly string[] | undefined
  readonly expiresAfterMs?: number | undefined
  readonly description?: string | undefined
  readonly source?: string | undefined
  readonly url?: string | undefined
}

/** Store and time of a publish. */
interface At {
  readonly store: Store
  readonly nowMs: number
  readonly ttlMs?: number
}

/**
 * Checks the end of a version, and that the metadata of the repository can be written, and returns it.
 *
 * @throws PUBLISH_INVALID when the version cannot expire then, or the repository has too many versions
 */
export async function checkMeta(request: PublishedMeta, at: At): Promise<Repo> {
  const { store, nowMs, ttlMs = 0 } = at
  const root = `${REPOS}${request.repo}/`
  const old = await readMeta(store, request.repo, root)
  checkEnd(request, old, ttlMs)
  const meta = nextMeta(request, await withoutRemoved(old, root, at), nowMs)
  formatChecked(meta)
  return meta
}

function checkEnd({ version, aliases = [], expiresAfterMs }: PublishedMeta, old: Repo, ttlMs: number): void {
  if (expiresAfterMs === undefined) return
  if (version === undefined) throw fault('PUBLISH_INVALID', 'only a version can expire; add --version')
  if (version === LATEST)
    throw fault('PUBLISH_INVALID', `"${LATEST}" is an alias and cannot expire; choose another version`)
  const alias = [...aliases, ...(old.aliases?.keys() ?? [])].find(
    (name) => aliases.includes(name) || old.aliases?.get(name) === version,
  )
  if (alias !== undefined)
    throw fault(
      'PUBLISH_INVALID',
      `a version with the alias "${alias}" cannot expire; remove the alias, or publish without --expires`,
    )
  if (expiresAfterMs <= ttlMs)
    throw fault(
      'PUBLISH_INVALID',
      `the version must be kept for longer than cache.ttl (${ttlMs / 1_000} s), within which servers notice it`,
    )
  if (expiresAfterMs > MAX_EXPIRES_DAYS * DAY_MS)
    throw fault('PUBLISH_INVALID', `a version can expire after at most ${MAX_EXPIRES_DAYS}d`)
}

/**
 * Waits until nobody is removing the repository or version, and postpones the removal of an expired version that is
 * being published again. Readers do not get it until it is published.
 */
export async function holdExpired({ repo, version }: PublishedMeta, { store, nowMs }: At): Promise<void> {
  await changeMeta(store, {
    name: repo,
    root: `${REPOS}${repo}/`,
    version,
    change: (old) =>
      version !== undefined && isExpired(old, version, nowMs)
        ? { ...old, expires: new Map(old.expires).set(version, nowMs) }
        : 'same',
  })
}

/**
 * Updates the metadata of a repository in the store. Returns the end of the version, if it expires.
 *
 * @param check called with the metadata that is about to be changed
 */
export async function updateMeta(
  request: PublishedMeta,
  at: At,
  check: (old: Repo) => Promise<void>,
): Promise<number | undefined> {
  const { store, nowMs } = at
  const { repo: name, version } = request
  const root = `${REPOS}${name}/`
  const change = async (old: Repo): Promise<Repo> => {
    await check(old)
    return nextMeta(request, await withoutRemoved(old, root, at), nowMs)
  }
  const meta = await changeMeta(store, { name, root, version, change })
  return version === undefined ? undefined : meta.expires?.get(version)
}

function nextMeta(request: PublishedMeta, old: Repo, nowMs: number): Repo {
  const { version, description = old.description, source = old.repo, url = old.url, expiresAfterMs } = request
  const versions = version === undefined ? old.versions : [...new Set([version, ...(old.versions ?? [])])]
  const expires = new Map(old.expires)
  if (version !== undefined) expires.delete(version)
  if (version !== undefined && expiresAfterMs !== undefined) expires.set(version, nowMs + expiresAfterMs)
  const latest = version === undefined ? old.latest : latestOf({ versions: versions ?? [], expires })
  const aliases = new Map(old.aliases)
  if (version !== undefined) for (const alias of request.aliases ?? []) aliases.set(alias, version)
  return {
    name: request.repo,
    lastPublished: new Date(nowMs).toISOString(),
    ...(description !== undefined && { description }),
    ...(source !== undefined && { repo: source }),
    ...(url !== undefined && { url }),
    ...(versions !== undefined && { versions }),
    ...(latest !== undefined && { latest }),
    ...(aliases.size > 0 && { aliases }),
    ...(expires.size > 0 && { expires }),
    ...(old.removing !== undefined && { removing: old.removing }),
  }
}

/**
 * Returns metadata without expired versions that were removed from the store. Only publishing removes them from the
 * metadata, which servers need not be able to write. Until then it hides what servers have cached.
 */
async function withoutRemoved(old: Repo, root: string, { store, nowMs, ttlMs = 0 }: At): Promise<Repo> {
  const removed = new Set<string>()
  for (const version of old.expires?.keys() ?? [])
    if (isExpired(old, version, nowMs - keptMs(ttlMs)) && (await isEmpty(store, `${root}${version}/`)))
      removed.add(version)
  if (removed.size === 0) return old
  return {
    ...old,
    versions: (old.versions ?? []).filter((version) => !removed.has(version)),
    aliases: new Map([...(old.aliases ?? [])].filter(([, version]) => !removed.has(version))),
    expires: new Map([...(old.expires ?? [])].filter(([version]) => !removed.has(version))),
  }
}

async function isEmpty(store: Store, folder: string): Promise<boolean> {
  const objects = store.list(folder)[Symbol.asyncIterator]()
  const { done } = await objects.next()
  await objects.return?.()
  return done === true
}
