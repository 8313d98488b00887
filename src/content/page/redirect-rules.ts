import { comparable } from '../name-form.ts'
import { isKey } from '../store/store.ts'
import { formatPath, pathPartOf } from './request-path.ts'

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
  /** Whether the path ends as the requested one: with or without a slash. */
  readonly endsAsAsked: boolean
  /** An http or https URL, or the query and fragment of the path. */
  readonly rest: string
  /** Line of the rule. */
  readonly line: number
}

/** A part of FROM: decoded text in the form in which paths are compared, or a placeholder for any one segment. */
type RulePart = string | { readonly name: string }

/** A line of a file of redirects. */
export interface Rule {
  readonly line: number
  readonly from: readonly RulePart[]
  /** Whether any number of segments may follow, which are `:splat` in the target. */
  readonly hasSplat: boolean
  readonly to: string
  readonly isUrl: boolean
  readonly status: RedirectStatus
}

/** A mistake in a file of rules. */
export interface RuleMistake {
  readonly line: number
  readonly message: string
}

const PLACEHOLDER = /:([A-Za-z]\w*)/g
const SPLAT = 'splat'

/**
 * Rules of a `_redirects` file, in the part of the syntax that Netlify and Cloudflare Pages share: `FROM TO [STATUS]`.
 * Paths are relative to the folder of the file, and a rule cannot name a page outside of it. The first rule that
 * matches decides. Iterates over the rules in this order.
 */
export class RedirectRules implements Iterable<Rule> {
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
      const rule = rules.length < MAX_RULES ? parseRule(line, at + 1) : `only ${MAX_RULES} rules are allowed`
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

  [Symbol.iterator](): Iterator<Rule> {
    return this.#rules[Symbol.iterator]()
  }

  /**
   * Returns the target of a path; undefined without a rule.
   *
   * @param segments decoded, relative to the folder
   * @param isDirectory whether the path ends with a slash
   */
  find(segments: readonly string[], isDirectory = false): Redirection | undefined {
    const compared = segments.map(comparable)
    for (const rule of this.#rules) {
      const values = match(rule, segments, compared)
      const target = values && targetOf(rule, values, isDirectory)
      if (target !== undefined) return target
    }
    return undefined
  }
}

/** Parses a line to a rule, or returns what is wrong with it. */
function parseRule(text: string, line: number): Rule | string {
  if (text.length > MAX_LINE) return `the line has more than ${MAX_LINE} characters`
  const [from = '', to, statusText = String(DEFAULT_STATUS), ...more] = text
    .replace(/\s#.*$/, '')
    .trim()
    .split(/\s+/)
  if (to === undefined) return 'a rule is "FROM TO [STATUS]"'
  if (more.length > 0 || /^[^/:]+=/.test(to)) return 'conditions and query parameters are not supported'
  const status = STATUSES.find((each) => String(each) === statusText)
  if (status === undefined) return `the status "${statusText}" is not one of ${STATUSES.join(', ')}`
  const source = parseFrom(from)
  if (typeof source === 'string') return source
  const isUrl = !to.startsWith('/')
  const rule = { line, ...source, to, isUrl, status }
  if (isUrl && !isSafeUrl(rule)) return `"${to}" is neither a path nor an http or https URL with a fixed host`
  if (isUrl && status === 200) return 'status 200 serves a page of this site; the target must be a path'
  if (!isUrl && (to.startsWith('//') || decodeParts(partsOf(pathPartOf(to))) === undefined))
    return `"${to}" is not a valid path of this site`
  return rule
}

/** Parses the path that a rule matches, or returns why no request can match it. */
function parseFrom(from: string): Pick<Rule, 'from' | 'hasSplat'> | string {
  if (!from.startsWith('/')) return `"${from}" is not a path that begins with "/"`
  const [mark] = /[?#]/.exec(from) ?? []
  if (mark !== undefined)
    return `"${from}" never matches, because a rule matches paths without ${mark === '?' ? 'query' : 'fragment'}; remove it, or write "${encodeURIComponent(mark)}" if "${mark}" is part of a name`
  const texts = [...partsOf(from)]
  const hasSplat = texts.at(-1) === '*'
  if (hasSplat) texts.pop()
  if (texts.some((text) => text.includes('*'))) return '"*" is allowed only as the last part of a path'
  const inside = texts.find((text) => /^:[A-Za-z]\w*\W/.test(text))
  if (inside !== undefined)
    return `the placeholder in "${inside}" must be a whole part of the path; write "%3A" if ":" is part of a name`
  const parts = decodeParts(texts)?.map((part, at): RulePart => {
    const [, name] = /^:([A-Za-z]\w*)$/.exec(texts[at] ?? '') ?? []
    return name === undefined ? comparable(part) : { name }
  })
  if (parts === undefined) return `"${from}" never matches, because no page can have this path`
  const names = namesOf({ from: parts, hasSplat })
  const again = names.find((name, at) => names.indexOf(name) !== at)
  if (again !== undefined) return `":${again}" occurs twice in "${from}"; give each part another name`
  return { from: parts, hasSplat }
}

/** Returns the names of the placeholders that a rule defines. */
function namesOf({ from, hasSplat }: Pick<Rule, 'from' | 'hasSplat'>): readonly string[] {
  const names = from.flatMap((part) => (typeof part === 'string' ? [] : [part.name]))
  return hasSplat ? [...names, SPLAT] : names
}

/** Returns the parts of a path between its slashes. */
function partsOf(path: string): readonly string[] {
  const inner = path.replace(/^\/|\/$/g, '')
  return inner === '' ? [] : inner.split('/')
}

/** Decodes parts of a path; undefined if no page can have it. */
function decodeParts(parts: readonly string[]): readonly string[] | undefined {
  if (parts.length === 0) return []
  try {
    const segments = parts.map(decodeURIComponent)
    return segments.every((each) => !each.includes('/')) && isKey(segments.join('/')) ? segments : undefined
  } catch {
    // A sequence after "%" that is not valid UTF-8.
    return undefined
  }
}

/** Replaces the placeholders of a text that have a value; any other `:name` is text, such as a part of a URN. */
function fill(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => valueOf(name) ?? whole)
}

/** Whether the URL of a rule keeps its scheme and host for all values of its placeholders, and has no credentials. */
function isSafeUrl(rule: Rule): boolean {
  const { to } = rule
  const names = namesOf(rule)
  const [one, two] = ['a', 'b.c'].map((value) =>
    fill(to, (name) => (names.includes(name) ? value : undefined)),
  )
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

/**
 * Returns the values of the placeholders if a path matches.
 *
 * @param compared the segments in the form in which they are compared
 */
function match(
  { from, hasSplat }: Rule,
  segments: readonly string[],
  compared: readonly string[],
): ReadonlyMap<string, readonly string[]> | undefined {
  if (segments.length < from.length || (!hasSplat && segments.length > from.length)) return undefined
  const values = new Map<string, readonly string[]>()
  for (const [at, part] of from.entries()) {
    if (typeof part !== 'string') values.set(part.name, segments.slice(at, at + 1))
    else if (part !== compared[at]) return undefined
  }
  if (hasSplat) values.set(SPLAT, segments.slice(from.length))
  return values
}

function targetOf(
  { line, to, isUrl, status }: Rule,
  values: ReadonlyMap<string, readonly string[]>,
  isDirectory: boolean,
): Redirection | undefined {
  const filled = (text: string): string =>
    fill(text, (name) => values.get(name)?.map(encodeURIComponent).join('/'))
  const inner = pathPartOf(to)
  // What is matched by `*` includes the slash at the end.
  const endsAsAsked = inner.endsWith(`:${SPLAT}`) && (values.get(SPLAT) ?? []).length > 0
  const path = filled(inner) + (endsAsAsked && isDirectory ? '/' : '')
  if (isUrl) {
    const url = path + filled(to.slice(inner.length))
    const rest = URL.canParse(url) ? new URL(url).href : undefined
    return rest === undefined ? undefined : { status, path: undefined, endsAsAsked, rest, line }
  }
  const segments = decodeParts(partsOf(path.replace(/\/+$/, '/')))
  if (segments === undefined) return undefined
  // As a header, the address must be in ASCII.
  const { search, hash } = new URL(filled(to.slice(inner.length)), 'http://here.invalid/')
  return {
    status,
    path: { segments, isDirectory: path.endsWith('/') },
    endsAsAsked,
    rest: search + hash,
    line,
  }
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
