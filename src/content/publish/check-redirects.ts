import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { fault } from '../errors.ts'
import type { Followed, Page, RuleId } from '../page/find-page.ts'
import {
  MAX_REDIRECTS_BYTES,
  REDIRECTS_FILE,
  RedirectRules,
  type Rule,
  type RuleMistake,
} from '../page/redirect-rules.ts'
import { formatPath, type RequestPath } from '../page/request-path.ts'
import { type LocalFile, locationOf } from './list-folder.ts'
import { ALL_GRANTS, type NextSite } from './next-site.ts'
import { instances, RedirectTargets } from './redirect-targets.ts'

const SHOWN = 5
/** Requests for pages that exist, which are tried for all rules together; for each rule at least some. A rule with more works. */
const MAX_TRIED = 20_000
const MIN_TRIED = 20

/** Segments that are tried beyond the longest rule: those of a version, which precede, may be longer. */
const MORE = 8

/** Result of checking the rules of a folder to publish. */
interface CheckedRedirects {
  /** Number of rules. */
  readonly redirects: number
  /** Lines that have no effect, because of the pages of the site, or contain a likely mistake; in order. */
  readonly idleRedirects: readonly RuleMistake[]
}

/**
 * Checks the file of redirects among files to publish: sends requests for each rule to the code that serves them.
 *
 * @param openSite called if there are rules
 * @throws PUBLISH_INVALID when a line is not a valid rule, no request can match it, or its redirects never end
 */
export async function checkRedirects(
  files: readonly LocalFile[],
  openSite: () => Promise<NextSite>,
): Promise<CheckedRedirects> {
  const rules = await readRules(files)
  if (rules.size === 0) return { redirects: 0, idleRedirects: [] }
  const shadows = new Map([...rules].flatMap((rule) => shadowOf(rule, rules) ?? []))
  refuse([...shadows.values()].filter(({ isRepeated }) => !isRepeated))
  const site = await openSite()
  const [endless, idle]: [RuleMistake[], RuleMistake[]] = [[], []]
  const targets = new RedirectTargets(rules, site)
  for (const rule of rules) {
    const shadow = shadows.get(rule.line)
    if (shadow !== undefined) {
      idle.push({ line: rule.line, message: shadow.message })
      continue
    }
    const result = await tryRule(rule, rules, site, targets)
    if (result.is === 'endless') endless.push({ line: rule.line, message: result.message })
    const message = result.is === 'idle' ? result.message : hint(rule, site)
    if (message !== undefined) idle.push({ line: rule.line, message })
  }
  refuse(endless)
  return { redirects: rules.size, idleRedirects: idle }
}

async function readRules(files: readonly LocalFile[]): Promise<RedirectRules> {
  const found = files.find(({ path }) => path === REDIRECTS_FILE)
  if (found === undefined) return RedirectRules.parse('').rules
  if (found.size > MAX_REDIRECTS_BYTES)
    throw fault('PUBLISH_INVALID', `${REDIRECTS_FILE} has more than ${MAX_REDIRECTS_BYTES / 1024} KiB`)
  const bytes = await readFile(locationOf(found))
  if (!isUtf8(bytes)) refuse(notUtf8(bytes.toString('latin1').split('\n')))
  const { rules, mistakes } = RedirectRules.parse(bytes.toString())
  refuse(mistakes)
  return rules
}

/** Returns the lines that are not in UTF-8, apart from comments. @param lines as Latin-1 */
function notUtf8(lines: readonly string[]): readonly RuleMistake[] {
  return lines.flatMap((text, at) =>
    /^\s*#/.test(text) || isUtf8(Buffer.from(text, 'latin1'))
      ? []
      : [{ line: at + 1, message: 'is not in UTF-8; save the file in UTF-8' }],
  )
}

function refuse(mistakes: readonly RuleMistake[]): void {
  if (mistakes.length === 0) return
  const shown = mistakes.slice(0, SHOWN).map(({ line, message }) => `line ${line}: ${message}`)
  const more = mistakes.length > SHOWN ? [`${mistakes.length - SHOWN} more`] : []
  throw fault('PUBLISH_INVALID', `${REDIRECTS_FILE} is not valid: ${[...shown, ...more].join('; ')}`)
}

/** A rule that never matches; `isRepeated` if one before is the same, apart from a slash at the end. */
interface Shadow extends RuleMistake {
  readonly isRepeated: boolean
}

/** Returns what is wrong with a rule if earlier ones match all of its paths, by its line. */
function shadowOf(rule: Rule, rules: RedirectRules): readonly [readonly [number, Shadow]] | undefined {
  if (!reached(rule, rules).next().done) return undefined
  const { line } = rule
  const [any = []] = instances(rule, 0)
  const before = rules.find(any)?.line
  const isRepeated = [...rules].some((each) => each.line === before && contentOf(each) === contentOf(rule))
  const message =
    before === undefined
      ? 'never matches, because no page can have the path of its target'
      : isRepeated
        ? `is not necessary, because line ${before} does the same`
        : `never matches, because the rules before match the same paths, such as line ${before}; remove one of them, or move the more specific one up`
  return [[line, { line, message, isRepeated }]]
}

function contentOf({ from, hasSplat, to, status }: Rule): string {
  return JSON.stringify([from, hasSplat, to, status])
}

/** Yields paths, one for each number of segments, that a rule is the first to match. */
function* reached(rule: Rule, rules: RedirectRules): Generator<readonly string[]> {
  const longest = Math.max(...[...rules].map(({ from }) => from.length))
  for (const path of instances(rule, longest - rule.from.length + MORE))
    if (rules.find(path)?.line === rule.line) yield path
}

/** Effect of a rule: `works` for at least one request, or none. */
type Effect =
  | { readonly is: 'works' }
  /** `isPage`: a page has this address. */
  | { readonly is: 'idle'; readonly message: string; readonly isPage: boolean }
  | { readonly is: 'endless'; readonly message: string }

const WORKS: Effect = { is: 'works' }

async function tryRule(
  rule: Rule,
  rules: RedirectRules,
  site: NextSite,
  targets: RedirectTargets,
): Promise<Effect> {
  let failed: Effect | undefined
  const works = async (segments: readonly string[]): Promise<boolean> => {
    for (const isDirectory of [false, true]) {
      const effect = await tryPath({ segments, isDirectory }, rule, site)
      if (effect.is === 'works') return true
      if (failed === undefined || effect.is === 'endless') failed = effect
      // The address of a page with a slash appended is nobody's.
      if (effect.is === 'idle' && effect.isPage) return false
    }
    return false
  }
  for (const segments of reached(rule, rules)) if (await works(segments)) return WORKS
  // Not for any text: for the pages that exist, and for the paths of other rules.
  if (rule.isUrl || !isVariable(rule)) return failed ?? WORKS
  let left = Math.max(MIN_TRIED, Math.floor(MAX_TRIED / rules.size))
  for await (const segments of targets.sourcesOf(rule)) {
    if (segments === 'more') return WORKS
    if (rules.find(segments)?.line !== rule.line) continue
    if (left-- === 0 || (await works(segments))) return WORKS
  }
  return failed ?? WORKS
}

function isVariable({ from, hasSplat }: Rule): boolean {
  return hasSplat || from.some((part) => typeof part !== 'string')
}

async function tryPath(path: RequestPath, rule: Rule, { folder, finder, pathOf }: NextSite): Promise<Effect> {
  const asked = { ...path, segments: [...folder, ...path.segments] }
  const page = await finder.step(asked, ALL_GRANTS)
  const id: RuleId = `${folder.join('/')}/${REDIRECTS_FILE}:${rule.line}`
  if ((page.is !== 'object' && page.is !== 'redirect') || page.rule !== id)
    return { is: 'idle', message: whyIdle(page, asked, rule, folder), isPage: isPage(page) }
  if (page.is === 'object') return WORKS
  const followed = await finder.follow(asked, ALL_GRANTS, pathOf)
  return followed.isEndless ? { is: 'endless', message: whyEndless(followed, id) } : WORKS
}

function isPage(page: Page): boolean {
  return page.is === 'llms' || (page.is === 'object' && !page.isNotFound && page.rule === undefined)
}

function whyEndless({ rules }: Followed, id: RuleId): string {
  const file = id.slice(0, id.lastIndexOf(':'))
  const lines = rules.map((each) => (each.startsWith(`${file}:`) ? `line ${lineOf(each)}` : each)).join(' → ')
  return new Set(rules).size === rules.length
    ? `too many redirects follow (${lines}); redirect to the last page directly`
    : `its redirects never end (${lines}), because no page is published at their targets; publish one there first, redirect to another, or remove the line`
}

function lineOf(rule: RuleId): string {
  return rule.slice(rule.lastIndexOf(':') + 1)
}

function whyIdle(
  page: Page,
  asked: RequestPath,
  { to, status }: Rule,
  { length: depth }: readonly string[],
): string {
  const at = JSON.stringify(decodeURI(formatPath(asked.segments, asked.isDirectory)))
  // Rules of the repository follow those of a version.
  if ('rule' in page && page.rule !== undefined && depth < 3)
    return `never matches, because line ${lineOf(page.rule)} of ${page.rule.slice(0, page.rule.lastIndexOf(':'))} matches ${at} first; remove one of them`
  if (page.is === 'redirect' || isPage(page))
    return `never matches, because a page is published at ${at}; remove the page (with --delete, if it is no longer in the folder), or the line`
  if (status === 200)
    return `has no effect, because no page is published at ${JSON.stringify(to)}; publish it, or remove the line`
  return `never matches, because ${at} is below an alias, and rules match the path of its version; write the name of the version`
}

/** Returns a hint at a mistake in a rule that has an effect. */
function hint({ from, to, hasSplat, isUrl }: Rule, { folder }: NextSite): string | undefined {
  const base = `/${folder.slice(0, 2).join('/')}/`
  const isFromBase = from[0] === folder[0] && from[1] === folder[1]
  if (isFromBase || (!isUrl && to.startsWith(base)))
    return `paths are relative to the folder of the file; leave out ${JSON.stringify(base.slice(0, -1))}`
  const names = [
    ...from.flatMap((part) => (typeof part === 'string' ? [] : [part.name])),
    hasSplat ? 'splat' : '',
  ]
  if (!isUrl && to.endsWith('/*'))
    return '"*" is text in the second path; write ":splat" for what "*" matches'
  const unknown = [...to.matchAll(/(?<!\w):([A-Za-z]\w*)|:(splat)\b/g)]
    .map(([, a, b]) => a ?? b ?? '')
    .find((name) => !names.includes(name))
  return (
    unknown &&
    `":${unknown}" is text, because it is no part of the first path; correct it if it should be a placeholder`
  )
}
