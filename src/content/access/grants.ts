/** Repositories that a reader may read. Deciding is a lookup, made for each request. */
export interface Grants {
  mayRead(repo: string): boolean
  /** Whether the pages outside of repositories are readable too. */
  readonly hasSite: boolean
}

/** Returns the repositories, by name, that a reader may know of. */
export function visibleRepos<T>(repos: ReadonlyMap<string, T>, grants: Grants): ReadonlyMap<string, T> {
  return new Map([...repos].filter(([name]) => grants.mayRead(name)))
}
