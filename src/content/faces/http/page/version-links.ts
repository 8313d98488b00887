// Addresses of a page in other versions, computed by the version switcher.

/** Position of a page in the versions of a repository. */
export interface VersionPlace {
  /** Query that names the repository; empty on its separate host. */
  readonly query: string
  /** Version or alias in the page's address. */
  readonly current: string
  /** Path of the page in its version, encoded. */
  readonly page: string
}

/** Returns the position of a page by its path; undefined if it cannot be in a version. */
export function placeOf(pathname: string): VersionPlace | undefined {
  const [, first = '', ...others] = pathname.split('/')
  if (first !== 'repos') return others.length === 0 ? undefined : place('', first, others)
  const [repo = '', version = '', ...rest] = others
  return rest.length === 0 ? undefined : place(`?repo=${repo}`, version, rest)
}

function place(query: string, current: string, page: readonly string[]): VersionPlace | undefined {
  try {
    return { query, current: decodeURIComponent(current), page: page.join('/') }
  } catch {
    return undefined
  }
}

/** Returns the name of a version in the list. */
export function labelOf({
  version,
  aliases,
  expires,
}: {
  readonly version: string
  readonly aliases: readonly string[]
  readonly expires?: string
}): string {
  const notes = [...aliases, ...(expires === undefined ? [] : [`until ${expires.slice(0, 10)}`])]
  return notes.length === 0 ? version : `${version} (${notes.join(', ')})`
}
