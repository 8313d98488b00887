import { comparable } from '../name-form.ts'
import type { RedirectRules, Rule } from '../page/redirect-rules.ts'
import { pathPartOf } from '../page/request-path.ts'
import type { NextSite } from './next-site.ts'

/** Prefix of segments that stand for any text. */
const ANY = '~any'
/** Paths that are compared with the targets of all rules together; for each rule at least some. */
const MAX_COMPARED = 2_000_000
const MIN_COMPARED = 2_000
/** Placeholders of a target beyond one in each part: with more, a comparison can take too long. */
const MAX_JOINED = 2
/** Versions whose paths are compared. */
const MAX_VERSIONS = 50

/** Yields paths that a rule matches, with up to a number of segments for `*`. What a rule does for them, it does for most. */
export function* instances({ from, hasSplat }: Rule, maxSplat: number): Generator<readonly string[]> {
  const fixed = from.map((part, at) => (typeof part === 'string' ? part : `${ANY}${at}`))
  for (let count = 0; count <= (hasSplat ? maxSplat : 0); count++)
    yield [...fixed, ...Array.from({ length: count }, (_, at) => `${ANY}${fixed.length + at}`)]
}

/** Paths to which rules may redirect: those of files, also as clean addresses, and those that rules match. */
export class RedirectTargets {
  readonly #rules: RedirectRules
  readonly #site: NextSite
  readonly #maxCompared: number
  /** Such paths in the folder, by their first segment. */
  #own: ReadonlyMap<string, readonly string[]> | undefined
  /** All such paths, also of the versions in the folder. */
  #all: readonly string[] | undefined

  constructor(rules: RedirectRules, site: NextSite) {
    this.#rules = rules
    this.#site = site
    this.#maxCompared = Math.max(MIN_COMPARED, Math.floor(MAX_COMPARED / rules.size))
  }

  /** Yields the paths that a rule with placeholders redirects to such a path; `more` at the end if there may be others. */
  async *sourcesOf(rule: Rule): AsyncGenerator<readonly string[] | 'more'> {
    const [target, first] = [targetPattern(rule), firstOf(rule)]
    const paths = target === undefined ? [] : await this.#below(first)
    for (const path of paths.slice(0, this.#maxCompared)) {
      const source = target && sourceOf(rule, target, path)
      if (source !== undefined) yield source
    }
    const areAll = first !== undefined || this.#site.versions.length <= MAX_VERSIONS
    if (target === undefined || !areAll || paths.length > this.#maxCompared) yield 'more'
  }

  /** @param first first segment of the paths; undefined for all */
  async #below(first: string | undefined): Promise<readonly string[]> {
    if (first === undefined) return (this.#all ??= await this.#readAll())
    const inVersion = await this.#site.pathsInVersion(first)
    if (inVersion !== undefined) return [...addressesOf(inVersion), ...this.#matched()]
    return this.#ownPaths().get(first) ?? []
  }

  async #readAll(): Promise<readonly string[]> {
    const paths = [...this.#ownPaths().values()].flat()
    for (const version of this.#site.versions.slice(0, MAX_VERSIONS))
      for (const path of addressesOf((await this.#site.pathsInVersion(version)) ?? [])) paths.push(path)
    return paths
  }

  #ownPaths(): ReadonlyMap<string, readonly string[]> {
    this.#own ??= Map.groupBy([...addressesOf(this.#site.paths()), ...this.#matched()], (path) =>
      comparable(path.slice(0, (path.indexOf('/') + 1 || path.length + 1) - 1)),
    )
    return this.#own
  }

  *#matched(): Generator<string> {
    for (const rule of this.#rules) for (const path of instances(rule, 1)) yield path.join('/')
  }
}

/** Yields paths of files, with their clean addresses. */
function* addressesOf(paths: Iterable<string>): Generator<string> {
  for (const path of paths) {
    yield path
    if (path.endsWith('.html')) yield path.replace(/(?:(?:^|\/)index)?\.html$/, '')
  }
}

/** Returns the names of the placeholders of a rule; a `*` is `splat`. */
function namesOf({ from, hasSplat }: Rule): ReadonlySet<string> {
  const names = from.flatMap((part) => (typeof part === 'string' ? [] : [part.name]))
  return new Set(hasSplat ? [...names, 'splat'] : names)
}

/** Returns the pieces of the path of a target: texts, and names of placeholders after a colon. */
function piecesOf({ to }: Rule): readonly string[] {
  return pathPartOf(to)
    .replace(/^\/|\/$/g, '')
    .split(/(:[A-Za-z]\w*)/)
}

/** Returns the first segment of a target; undefined if it depends on placeholders. */
function firstOf(rule: Rule): string | undefined {
  const [first = ''] = /^[^/?#]*/.exec(rule.to.slice(1)) ?? []
  const names = namesOf(rule)
  const isVariable = [...first.matchAll(/:([A-Za-z]\w*)/g)].some(([, name = '']) => names.has(name))
  return isVariable ? undefined : comparable(decodeURIComponent(first))
}

/** Returns an expression that matches the paths to which a rule redirects, with the values of its placeholders. */
function targetPattern(rule: Rule): RegExp | undefined {
  const names = namesOf(rule)
  const seen = new Set<string>()
  let joined = 0
  let hasPlaceholder = false
  const pattern = piecesOf(rule).map((text) => {
    const name = text.slice(1)
    if (!text.startsWith(':') || !names.has(name)) {
      if (text.includes('/')) hasPlaceholder = false
      return comparable(decodeURIComponent(text)).replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
    }
    if (hasPlaceholder) joined++
    hasPlaceholder = true
    if (seen.has(name)) return String.raw`\k<${name}>`
    seen.add(name)
    return name === 'splat' ? '(?<splat>.*)' : `(?<${name}>[^/]+)`
  })
  return joined > MAX_JOINED ? undefined : new RegExp(`^${pattern.join('')}/?$`, 'su')
}

function sourceOf(rule: Rule, target: RegExp, path: string): readonly string[] | undefined {
  const found = target.exec(comparable(path))
  if (found === null) return undefined
  const values = found.groups ?? {}
  const fixed = rule.from.map((part, at) =>
    typeof part === 'string' ? part : (values[part.name] ?? `${ANY}${at}`),
  )
  const splat = rule.hasSplat ? (values['splat'] ?? ANY) : ''
  return splat === '' ? fixed : [...fixed, ...splat.split('/')]
}
