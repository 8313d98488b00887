import { LATEST, type Repo } from './meta.ts'
import { compareVersions, parseVersion, type Version } from './version-order.ts'

/** Fields of a repository that name its versions. */
export type Versioned = Pick<Repo, 'versions' | 'latest' | 'aliases' | 'expires'>

/** A version with all aliases that resolve to it. */
export interface NamedVersion {
  readonly version: string
  readonly aliases: readonly string[]
  /** RFC 3339; absent if it does not expire. */
  readonly expires?: string
}

/**
 * Sorts versions, the latest first: releases, then pre-releases, both as semver.org, Python and Maven order them, then
 * all others in the given order.
 *
 * @param versions the one published last first
 */
export function sortVersions(versions: readonly string[]): readonly string[] {
  const parsed = new Map(versions.map((version) => [version, parseVersion(version)]))
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

function isPre(version: Version): number {
  return Number(version.isPreRelease)
}

/** Compares versions, the later first; releases before pre-releases, and other names at the end. */
function compare(a: Version | undefined, b: Version | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return isPre(a) - isPre(b) || compareVersions(b, a)
}
