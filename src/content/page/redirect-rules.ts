import { isKey } from '../store/store.ts'
import { formatPath } from './request-path.ts'

/** File with the redirects of a repository or version. */
export const REDIRECTS_FILE = '_redirects'
/** Larger files are neither published nor read. */
export const MAX_REDIRECTS_BYTES = 128 * 1024
const MAX_RULES = 1_000
const MAX_LINE = 1_000
const DEFAULT_STATUS = 302
const STATUSES = [301, 302, 307, 308, 200] as const

/** Status of a redirect; 200 serves another page of the site in place. */
export type RedirectStatus = (typeof STATUSES)[number]

/** Target of a path by a rule. */
export interface Redirection {
  readonly status: RedirectStatus
  /** Path in the folder of the rules, as decoded segments; undefined for an address of another site. */
  readonly path: { readonly segments: readonly string[]; readonly isDirectory: boolean } | undefined
  /** An http or https URL, or the query and fragment of the path. */
  readonly rest: string
}

interface Rule {
  /** Decoded segments; `*` as the last one matches any number of them, `:name` matches one. */
  readonly from: readonly string[]
  readonly to: string
  readonly isUrl: boolean
  readonly status: RedirectStatus
}

/** A mistake in a file of rules. */
interface RuleMistake {
  readonly line: number
  readonly message: string
}

const PLACEHOLDER = /:([A-Za-z]\w*)/g

/**
 * Rules of a `_redirects` file, in the part of the syntax that Netlify and Cloudflare Pages share: `FROM TO [STATUS]`.
 * Paths are relative to the folder of the file, and a rule cannot name a page outside of it. The first rule that
 * matches decides.
 */
export class RedirectRules {
  readonly #rules: readonly Rule[]

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  /** Parses a file. Invalid lines are returned as mistakes, and are not among the rules. */
  static parse(text: string): { readonly rules: RedirectRules; readonly mistakes: readonly RuleMistake[] } {
    const rules: Rule[] = []
    const mistakes: RuleMistake[] = []
    for (const [at, line] of text.split(/\r?\n/).entries()) {
      if (/^\s*(?:#|$)/.test(line)) continue
      const rule = rules.length < MAX_RULES ? parseRule(line) : `only ${MAX_RULES} rules are allowed`
      if (typeof rule !== 'string') rules.push(rule)
      else mistakes.push({ line: at + 1, message: rule })
      if (rules.length >= MAX_RULES && typeof rule === 'string') break
    }
    return { rules: new RedirectRules(rules), mistakes }
  }

  /** Number of rules. */
  get size(): number {
    return this.#rules.length
  }

  /** Returns the target of a path; undefined without a rule. @param segments decoded, relative to the folder */
  find(segments: readonly string[]): Redirection | undefined {
    for (const rule of this.#rules) {
      const values = match(rule.from, segments)
      const target = values && targetOf(rule, values)
      if (target !== undefined) return target
    }
    return undefined
  }
}

/** Parses a line to a rule, or returns what is wrong with it. */
function parseRule(line: string): Rule | string {
  if (line.length > MAX_LINE) return `the line has more than ${MAX_LINE} characters`
  const [from = '', to, statusText = String(DEFAULT_STATUS), ...more] = line
    .replace(/\s#.*$/, '')
    .trim()
    .split(/\s+/)
  if (to === undefined) return 'a rule is "FROM TO [STATUS]"'
  if (more.length > 0 || /^[^/:]+=/.test(to)) return 'conditions and query parameters are not supported'
  const status = STATUSES.find((each) => String(each) === statusText)
  if (status === undefined) return `the status "${statusText}" is not one of ${STATUSES.join(', ')}`
  const segments = from.startsWith('/') ? decoded(from) : undefined
  if (segments === undefined) return `"${from}" is not a path that begins with "/"`
  if (segments.slice(0, -1).some((each) => each.includes('*')) || /.\*|\*./.test(segments.at(-1) ?? ''))
    return '"*" is allowed only as the last part of a path'
  const isUrl = !to.startsWith('/')
  if (isUrl && !isSafeUrl(to)) return `"${to}" is neither a path nor an http or https URL with a fixed host`
  const names = segments.flatMap((each) => (each === '*' ? ['splat'] : nameOf(each)))
  const unknown = [...to.matchAll(PLACEHOLDER)].find(([, name = '']) => !names.includes(name))
  if (unknown !== undefined) return `"${unknown[0]}" does not occur in "${from}"`
  if (isUrl && status === 200) return 'status 200 serves a page of this site; the target must be a path'
  if (!isUrl && (to.startsWith('//') || decoded(pathOf(to)) === undefined))
    return `"${to}" is not a valid path of this site`
  return { from: segments, to, isUrl, status }
}

function nameOf(segment: string): readonly string[] {
  const [, name] = /^:([A-Za-z]\w*)$/.exec(segment) ?? []
  return name === undefined ? [] : [name]
}

/** Returns the decoded segments of a path; undefined if it is not valid. */
function decoded(path: string): readonly string[] | undefined {
  const inner = path.replace(/^\/|\/$/g, '')
  if (inner === '') return []
  try {
    const segments = inner.split('/').map(decodeURIComponent)
    return segments.every((each) => !each.includes('/')) && isKey(segments.join('/')) ? segments : undefined
  } catch {
    return undefined
  }
}

/** Whether a URL keeps its scheme and host for all values of its placeholders, and has no credentials. */
function isSafeUrl(to: string): boolean {
  const [one, two] = ['a', 'b.c'].map((value) => to.replace(PLACEHOLDER, value))
  if (one === undefined || two === undefined || !URL.canParse(one) || !URL.canParse(two)) return false
  const [first, second] = [new URL(one), new URL(two)]
  return (
    /^https?:$/.test(first.protocol) &&
    /^https?:\/\//i.test(to) &&
    first.origin === second.origin &&
    `${first.username}${first.password}${second.username}${second.password}` === '' &&
    !/[\s\\]/.test(to)
  )
}

/** Returns the values of the placeholders if a path matches. */
function match(
  from: readonly string[],
  segments: readonly string[],
): ReadonlyMap<string, readonly string[]> | undefined {
  const hasSplat = from.at(-1) === '*'
  const fixed = hasSplat ? from.length - 1 : from.length
  if (segments.length < fixed || (!hasSplat && segments.length > fixed)) return undefined
  const values = new Map<string, readonly string[]>()
  for (const [at, part] of from.slice(0, fixed).entries()) {
    const segment = segments[at] ?? ''
    const [name] = nameOf(part)
    if (name !== undefined) values.set(name, [segment])
    else if (part !== segment) return undefined
  }
  if (hasSplat) values.set('splat', segments.slice(fixed))
  return values
}

function targetOf(
  { to, isUrl, status }: Rule,
  values: ReadonlyMap<string, readonly string[]>,
): Redirection | undefined {
  const fill = (text: string): string =>
    text.replace(PLACEHOLDER, (whole, name: string) =>
      values.has(name) ? (values.get(name) ?? []).map(encodeURIComponent).join('/') : whole,
    )
  if (isUrl) {
    const url = fill(to)
    return URL.canParse(url) ? { status, path: undefined, rest: new URL(url).href } : undefined
  }
  const path = pathOf(to)
  const filled = fill(path)
  const segments = decoded(filled.replace(/\/+$/, '/'))
  if (segments === undefined) return undefined
  // As a header, the address must be in ASCII.
  const { search, hash } = new URL(fill(to.slice(path.length)), 'http://here.invalid/')
  return { status, path: { segments, isDirectory: filled.endsWith('/') }, rest: search + hash }
}

/** Returns the part of a target before its query and fragment. */
function pathOf(to: string): string {
  return /^[^?#]*/.exec(to)?.[0] ?? ''
}

/**
 * Returns the address that a redirect names.
 *
 * @param folder segments of the folder of the rules
 */
export function addressOf({ path, rest }: Redirection, folder: readonly string[]): string {
  if (path === undefined) return rest
  const isDirectory = path.isDirectory || path.segments.length === 0
  return formatPath([...folder, ...path.segments], isDirectory) + rest
}
