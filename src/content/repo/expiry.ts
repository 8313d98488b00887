import type { Repo } from './meta.ts'

/** Whether the end of a version has passed. */
export function isExpired({ expires }: Repo, version: string, nowMs: number): boolean {
  return (expires?.get(version) ?? Number.POSITIVE_INFINITY) <= nowMs
}

/** Returns a repository as of a time, without expired versions and their aliases. Readers get nothing of them. */
export function asOf(repo: Repo, nowMs: number): Repo {
  const { versions = [], aliases = new Map<string, string>(), expires = new Map<string, number>() } = repo
  const isLeft = (version: string): boolean => !isExpired(repo, version, nowMs)
  if ([...expires.keys()].every(isLeft)) return repo
  return {
    ...repo,
    versions: versions.filter(isLeft),
    aliases: new Map([...aliases].filter(([, version]) => isLeft(version))),
    expires: new Map([...expires].filter(([version]) => isLeft(version))),
  }
}

/** A value that depends on which versions have expired. It is computed again only after that has changed. */
export class UntilNextEnd<T> {
  readonly #compute: (nowMs: number) => T
  readonly #ends: readonly number[]
  #last: { readonly value: T; readonly fromMs: number; readonly untilMs: number } | undefined

  constructor(repos: Iterable<Repo>, compute: (nowMs: number) => T) {
    this.#compute = compute
    this.#ends = [...repos].flatMap(({ expires }) => [...(expires?.values() ?? [])])
  }

  /** Returns the value as of a time. */
  at(nowMs: number): T {
    const last = this.#last
    // The clock may have been set back.
    if (last !== undefined && nowMs >= last.fromMs && nowMs < last.untilMs) return last.value
    let untilMs = Number.POSITIVE_INFINITY
    for (const endMs of this.#ends) if (endMs > nowMs && endMs < untilMs) untilMs = endMs
    const value = this.#compute(nowMs)
    this.#last = { value, fromMs: nowMs, untilMs }
    return value
  }
}
