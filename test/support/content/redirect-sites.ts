import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PageFinder, RuleId } from '../../../src/content/page/find-page.ts'
import {
  formatPath,
  parsePath,
  pathPartOf,
  type RequestPath,
} from '../../../src/content/page/request-path.ts'
import { publish, type PublishResult } from '../../../src/content/publish/publish.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { expect } from 'vitest'
import { fc } from '../fast-check.ts'
import { tempDir } from '../temp-dir.ts'
import { ALL_GRANTS, routerOf } from './router.ts'

/** A generated site: files, and lines of `_redirects`. */
interface RedirectSite {
  readonly version: string | undefined
  readonly files: readonly string[]
  readonly lines: readonly string[]
  /** Lines of the repository, if this is a version, or else of version 1.0. */
  readonly others: readonly string[]
}

/** Size of generated sites. */
interface SiteSize {
  readonly rules: number
  /** Maximum number of fixed segments of a rule. */
  readonly segments: number
}

/** Generates sites whose rules often overlap, shadow each other and form circles. */
export function redirectSites(size: SiteSize): fc.Arbitrary<RedirectSite> {
  const file = fc.constantFrom('a.html', 'b.html', 'a/index.html', 'b/c.html', 'b/a/index.html', 'c.html')
  const rules = fc.array(lineOf(size), { minLength: 1, maxLength: size.rules })
  return fc.record({
    version: fc.constantFrom(undefined, '1.0', '2.0'),
    files: fc.uniqueArray(file, { maxLength: 4 }),
    lines: rules,
    others: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: rules }),
  })
}

function lineOf({ segments }: SiteSize): fc.Arbitrary<string> {
  const text = fc.constantFrom<string>('a', 'b', 'c')
  const name = fc.constantFrom<string>(':x', ':y')
  return fc
    .record({
      before: fc.constantFrom('', '', '', '1.0', 'latest'),
      from: fc.array(fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: name }), {
        maxLength: segments,
      }),
      hasSplat: fc.boolean(),
      to: fc.array(fc.constantFrom<string>('a', 'b', 'c', ':x', ':y', ':splat', '1.0', '2.0', 'latest'), {
        maxLength: 3,
      }),
      hasSlash: fc.boolean(),
      status: fc.constantFrom('302', '302', '301', '200'),
    })
    .map(({ before, from, hasSplat, to, hasSlash, status }) => {
      const source = [...(before === '' ? [] : [before]), ...new Set(from), ...(hasSplat ? ['*'] : [])]
      const target = to.filter((part) =>
        part === ':splat' ? hasSplat : !part.startsWith(':') || from.includes(part),
      )
      return `/${source.join('/')} /${target.join('/')}${hasSlash && target.length > 0 ? '/' : ''} ${status}`
    })
}

/** Requests of which each rule can answer some: for files, and paths with one segment more than rules. */
function requestsOf({ version, files }: RedirectSite, size: SiteSize): readonly RequestPath[] {
  const roots = [[], ['1.0'], ['latest']].map((root) => [
    ...(version === undefined ? [] : [version]),
    ...root,
  ])
  const paths: (readonly string[])[] = [...roots, ...(version === undefined ? [] : [['latest']])]
  let level: readonly (readonly string[])[] = paths
  for (let depth = 0; depth <= size.segments; depth++) {
    level = level.flatMap((path) => ['a', 'b', 'c', 'other'].map((each) => [...path, each]))
    paths.push(...level)
  }
  for (const file of files) paths.push([...(roots[0] ?? []), ...file.split('/')])
  return paths.flatMap((path) =>
    [false, true].map((isDirectory) => ({ segments: ['repos', 'guide', ...path], isDirectory })),
  )
}

/** Publishes a site to a store, after version 1.0 or the repository, with some of its rules. */
async function publishSite(
  site: RedirectSite,
  lines: readonly string[],
): Promise<{
  readonly store: FsStore
  readonly result: PublishResult
  readonly id: (line: number) => RuleId
}> {
  const store = new FsStore(tempDir())
  const run = (version: string | undefined, files: readonly string[], rules: readonly string[]) => {
    const folder = tempDir()
    for (const path of ['c', ...files]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), path)
    }
    if (rules.length > 0) writeFileSync(join(folder, '_redirects'), rules.join('\n'))
    return publish({ folder, repo: 'guide', version, deletes: true }, { store, nowMs: 0 })
  }
  const first = site.version === undefined ? '1.0' : undefined
  await accepted(site.others, (rules) => run(first, ['b.html'], rules))
  const folder = ['repos', 'guide', ...(site.version === undefined ? [] : [site.version])].join('/')
  const result = await run(site.version, site.files, lines)
  return { store, result, id: (at) => `${folder}/_redirects:${at}` }
}

/** A file of rules that a publish refused, and the reasons by the numbers of lines. */
interface Refusal {
  readonly lines: readonly string[]
  readonly reasons: ReadonlyMap<number, string>
}

/** Runs a publish with fewer rules until it is accepted. Refused rules become comments, so the numbers of lines remain. */
async function accepted<T>(
  lines: readonly string[],
  run: (lines: readonly string[]) => Promise<T>,
): Promise<{ readonly result: T; readonly lines: readonly string[]; readonly refusals: readonly Refusal[] }> {
  const refusals: Refusal[] = []
  let rest = lines
  for (;;) {
    try {
      return { result: await run(rest), lines: rest, refusals }
    } catch (error) {
      const { message } = error as Error
      const reasons = new Map(
        [...message.matchAll(/(?:: |; )line (\d+): (\w+ \w+)/g)].map(([, at, reason = '']) => [
          Number(at),
          reason,
        ]),
      )
      if (reasons.size === 0) throw error
      refusals.push({ lines: rest, reasons })
      rest = rest.map((text, at) => (reasons.has(at + 1) ? `# ${text}` : text))
    }
  }
}

/** Rules that answer a client which follows redirects, in order, with the paths. */
async function browse(
  router: PageFinder,
  path: RequestPath,
): Promise<readonly { readonly rule: RuleId; readonly at: RequestPath }[]> {
  const rules: { readonly rule: RuleId; readonly at: RequestPath }[] = []
  let at: RequestPath | undefined = path
  for (let redirects = 0; at !== undefined && redirects < 20; redirects++) {
    const page = await router.find(at, ALL_GRANTS)
    if ((page.is === 'redirect' || page.is === 'object') && page.rule !== undefined)
      rules.push({ rule: page.rule, at })
    at = page.is === 'redirect' ? parsePath(pathPartOf(page.to)) : undefined
  }
  return rules
}

/**
 * Publishes a site, as far as its rules are accepted, and sends all requests to its router: no client gets two
 * redirects of one rule, a rule answers a request if and only if it was accepted and not listed, and a refused one
 * would never have. (A rule with placeholders is also refused if it ends only for a few paths without pages.)
 */
export async function expectRulesToHold(site: RedirectSite, size: SiteSize): Promise<void> {
  const {
    result: published,
    lines,
    refusals,
  } = await accepted(site.lines, (rules) => publishSite(site, rules))
  const { store, result, id } = published
  const requests = requestsOf(site, size)
  const answering = await answeringRules(store, requests)
  const idle = new Set(result.idleRedirects.map(({ line: at }) => at))
  expect(lines.map((text, at) => [text, answering.has(id(at + 1))])).toEqual(
    lines.map((text, at) => [text, !text.startsWith('#') && !idle.has(at + 1)]),
  )
  for (const { lines: given, reasons } of refusals) {
    const other = await publishSite(site, [])
    await other.store.write(id(0).slice(0, -2), Buffer.from(given.join('\n')))
    const found = await answeringRules(other.store, requests)
    const exact = [...reasons].filter(
      ([at, reason]) => reason === 'never matches' || !/[:*]/.test(given[at - 1] ?? ''),
    )
    expect(exact.filter(([at]) => found.has(id(at))).map(([at]) => given[at - 1])).toEqual([])
  }
}

/**
 * Returns the rules that answer requests, apart from addresses of files with a slash appended, which nobody uses. Fails
 * if one redirects a client twice.
 */
async function answeringRules(
  store: FsStore,
  requests: readonly RequestPath[],
): Promise<ReadonlySet<RuleId>> {
  const router = routerOf(store)
  const answering = new Set<RuleId>()
  for (const path of requests) {
    const rules = await browse(router, path)
    const ids = rules.map(({ rule }) => rule)
    expect(new Set(ids).size, `${formatPath(path.segments, path.isDirectory)}: ${ids.join()}`).toBe(
      ids.length,
    )
    for (const { rule, at } of rules) if (!(await isFile(router, at))) answering.add(rule)
  }
  return answering
}

/** Whether a path is that of a file, apart from a slash at its end. */
async function isFile(router: PageFinder, { segments, isDirectory }: RequestPath): Promise<boolean> {
  const page = isDirectory ? await router.find({ segments, isDirectory: false }, ALL_GRANTS) : undefined
  return page?.is === 'object' && !page.isNotFound && page.rule === undefined
}
