import { LATEST, type Repo } from './meta.ts'

/** Fields of a repository that name its versions. */
export type Versioned = Pick<Repo, 'versions' | 'latest' | 'aliases' | 'expires'>

/** A version with all aliases that resolve to it. */
export interface NamedVersion {
  readonly version: string
  readonly aliases: readonly string[]
  /** RFC 3339; absent if it does not expire. */
  readonly expires?: string
}

/** A semantic version; missing numbers are 0, and a leading `v` is ignored. */
interface Semantic {
  readonly numbers: readonly number[]
  /** Identifiers of a pre-release; empty for a release. */
  readonly pre: readonly string[]
}

const SEMANTIC = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/

/**
 * Sorts versions, the latest first: releases, then pre-releases, both by semantic version, then all others in the
 * given order.
 *
 * @param versions the one published last first
 */
export function sortVersions(versions: readonly string[]): readonly string[] {
  const parsed = new Map(versions.map((version) => [version, parseSemantic(version)]))
  return versions.toSorted((a, b) => compare(parsed.get(a), parsed.get(b)))
}

/** Returns the version that `latest` stands for: the highest that does not expire. */
export function latestOf({ versions = [], expires }: Versioned): string | undefined {
  return sortVersions(versions.filter((version) => expires?.has(version) !== true))[0]
}

/** Returns the version with a name or an alias; versions take precedence. */
export function versionNamed(
  { versions = [], latest, aliases }: Versioned,
  name: string,
): string | undefined {
  if (name === latest || versions.includes(name)) return name
  return name === LATEST ? latest : aliases?.get(name)
}

/** Returns all versions of a repository, the latest first, with their aliases. */
export function namedVersions(repo: Versioned): readonly NamedVersion[] {
  const { versions = [], latest, aliases = new Map<string, string>(), expires } = repo
  const all = new Set(latest === undefined ? versions : [...versions, latest])
  const names = [LATEST, ...aliases.keys()].filter((name) => !all.has(name))
  return sortVersions([...all]).map((version) => {
    const endMs = expires?.get(version)
    return {
      version,
      aliases: names.filter((name) => versionNamed(repo, name) === version),
      ...(endMs !== undefined && { expires: new Date(endMs).toISOString() }),
    }
  })
}

function parseSemantic(version: string): Semantic | undefined {
  const [whole, major, minor = '0', patch = '0', pre] = SEMANTIC.exec(version) ?? []
  if (whole === undefined) return undefined
  return { numbers: [major, minor, patch].map(Number), pre: pre?.split('.') ?? [] }
}

/** Compares by the precedence of semver.org, section 11, the higher first. */
function compare(a: Semantic | undefined, b: Semantic | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const [isPreA, isPreB] = [a.pre.length > 0, b.pre.length > 0]
  if (isPreA !== isPreB) return Number(isPreA) - Number(isPreB)
  for (const [at, number] of a.numbers.entries()) {
    const difference = (b.numbers[at] ?? 0) - number
    if (difference !== 0) return difference
  }
  return comparePre(b.pre, a.pre)
}

function comparePre(a: readonly string[], b: readonly string[]): number {
  for (const [at, one] of a.entries()) {
    const other = b[at]
    if (other === undefined) return 1
    if (one === other) continue
    const [isNumberA, isNumberB] = [/^\d+$/.test(one), /^\d+$/.test(other)]
    if (isNumberA && isNumberB) return Number(one) - Number(other)
    if (isNumberA !== isNumberB) return isNumberA ? -1 : 1
    return one < other ? -1 : 1
  }
  return a.length - b.length
}
