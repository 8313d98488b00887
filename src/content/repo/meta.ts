import { isHttpUrl } from '../../lib/http/http-url.ts'

/** Metadata of a repository in its `_meta.json`. */
export interface Repo {
  /** Name of its folder; a name in the file is ignored. */
  readonly name: string
  readonly description?: string
  /** RFC 3339. */
  readonly lastPublished?: string
  /** owner/name */
  readonly repo?: string
  /** An http or https URL, or a path of this site. */
  readonly url?: string
  /** The one published last first. */
  readonly versions?: readonly string[]
  /** The version that its root redirects to. */
  readonly latest?: string
  /** Versions by further names, such as `stable`. */
  readonly aliases?: ReadonlyMap<string, string>
  /** Ends of versions that expire, in milliseconds since the epoch. */
  readonly expires?: ReadonlyMap<string, number>
  /** Versions that are being removed, or `all` of the repository: nobody publishes them meanwhile. */
  readonly removing?: 'all' | readonly string[]
  /** Whether it has no pages besides versions that expire. Determined from the store, and not part of the file. */
  readonly hasOnlyPreviews?: boolean
}

/** File with a repository's metadata. */
export const META_FILE = '_meta.json'
/** A larger file is a mistake or an attack (threat O5). */
export const MAX_META_BYTES = 64 * 1024
const MAX_TEXT = 10_000
/** Maximum number of versions of a repository. */
export const MAX_VERSIONS = 1_000
/** Alias of the latest version in every repository with versions. */
export const LATEST = 'latest'
/** Maximum number of other aliases of a repository. */
export const MAX_ALIASES = 100
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether a text is a valid name of a repository or version. */
export function isRepoName(name: string): boolean {
  return NAME.test(name)
}

/** Parses a `_meta.json`. Ignores invalid fields, and everything if it is not a JSON object. */
export function parseMeta(name: string, bytes: Uint8Array): Repo {
  if (bytes.length > MAX_META_BYTES) return { name }
  const raw = parseObject(bytes)
  const description = textOf(raw['description'])
  const lastPublished = textOf(raw['last_published'])
  const repo = textOf(raw['repo'])
  const url = textOf(raw['url'])
  const latest = textOf(raw['latest'])
  const versions = Array.isArray(raw['versions'])
    ? raw['versions'].filter(isVersion).slice(0, MAX_VERSIONS)
    : undefined
  const aliases = aliasesOf(raw['aliases'], versions ?? [])
  const expires = endsOf(raw['expires'], versions ?? [])
  const removing = removingOf(raw['removing'])
  return {
    name,
    ...(description !== undefined && { description }),
    ...(lastPublished !== undefined && isTime(lastPublished) && { lastPublished }),
    ...(repo !== undefined && /^[\w.-]+(?:\/[\w.-]+)+$/.test(repo) && { repo }),
    ...(url !== undefined && isHarmless(url) && { url }),
    ...(versions !== undefined && { versions }),
    ...(latest !== undefined && isRepoName(latest) && !expires.has(latest) && { latest }),
    ...(aliases.size > 0 && { aliases }),
    ...(expires.size > 0 && { expires }),
    ...(removing.length > 0 && { removing }),
  }
}

/** Converts a repository to the form of the API, and of `_meta.json` without `removing`. */
export function formatMeta({ lastPublished, aliases, expires, ...more }: Repo) {
  const { hasOnlyPreviews: _hasOnlyPreviews, removing: _removing, ...rest } = more
  return {
    ...rest,
    ...(aliases !== undefined && aliases.size > 0 && { aliases: Object.fromEntries(aliases) }),
    ...(expires !== undefined && expires.size > 0 && { expires: formatEnds(expires) }),
    ...(lastPublished !== undefined && { last_published: lastPublished }),
  }
}

function formatEnds(expires: ReadonlyMap<string, number>): Readonly<Record<string, string>> {
  return Object.fromEntries([...expires].map(([version, endMs]) => [version, new Date(endMs).toISOString()]))
}

/** Returns the valid ends of listed versions. A version whose end is invalid does not expire. */
function endsOf(value: unknown, versions: readonly string[]): ReadonlyMap<string, number> {
  if (typeof value !== 'object' || value === null) return new Map()
  const ends = new Map(Object.entries(value as Readonly<Record<string, unknown>>))
  return new Map(
    versions.flatMap((version) => {
      const end = textOf(ends.get(version))
      return end !== undefined && isTime(end) ? [[version, Date.parse(end)] as const] : []
    }),
  )
}

/** Returns the valid aliases: of a listed version, and not the name of one. */
function aliasesOf(value: unknown, versions: readonly string[]): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null) return new Map()
  const listed = new Set(versions)
  const valid = Object.entries(value as Readonly<Record<string, unknown>>).flatMap(
    ([name, version]): (readonly [string, string])[] =>
      isRepoName(name) && name !== LATEST && !listed.has(name) && isVersion(version) && listed.has(version)
        ? [[name, version]]
        : [],
  )
  return new Map(valid.slice(0, MAX_ALIASES))
}

function removingOf(value: unknown): 'all' | readonly string[] {
  if (value === 'all') return value
  return Array.isArray(value) ? value.filter(isVersion).slice(0, MAX_VERSIONS) : []
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT ? value : undefined
}

function isVersion(value: unknown): value is string {
  return typeof value === 'string' && isRepoName(value)
}

function isTime(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  )
}

/** Whether a page may link to a URL: only schemes that run nothing. */
function isHarmless(url: string): boolean {
  if (/^\/(?![/\\])/.test(url)) return true
  return isHttpUrl(url)
}
