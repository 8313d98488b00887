import { brotliCompressSync } from 'node:zlib'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { PagesInMemory } from '../../../../src/content/faces/http/pages-in-memory.ts'
import { publish } from '../../../../src/content/publish/publish.ts'
import { FsStore } from '../../../../src/content/store/fs-store.ts'
import { cheapHash } from '../../../support/content/cheap-hash.ts'
import { ComparedSite, type SiteAnswer, type SiteRequest } from '../../../support/content/compared-sites.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Random } from '../../../support/differential/random.ts'
import { rounds } from '../../../support/rounds.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { SEED } from '../../../support/seed.ts'

const ROUNDS = rounds(600, 50_000)
const COMMON = 'docs.example:99'
const HOSTS = [
  COMMON,
  'guide.docs.example:99',
  'tool.docs.example:99',
  'hr.docs.example:99',
  'open.docs.example:99',
]
/** Number of requests that are repeated. */
const WORKING_SET = 4
const NAMES = ['ann', 'bob']
const TOKENS = ['ci', 'all']

const ACCESS = {
  default: 'readers',
  rules: [
    { repos: ['open'], public: true },
    { repos: ['hr*'], groups: ['hr', 'ann'] },
  ],
}
const SETTINGS = {
  users: NAMES.map((name) => ({ name, password_hash: cheapHash(name), groups: [name] })),
  access: ACCESS,
  versions: { switcher: true },
  cache: { ttl: '20s', negative_ttl: '1s', max_object_bytes: '40KiB' },
}
interface Site {
  readonly settings: object
  /** Pages in memory, most of the time. */
  readonly pages: readonly string[]
  /** Headers that matter most there. */
  readonly headers: readonly string[]
}

const COMMON_PAGES =
  `/repos/open/ /repos/hr/ /repos/bare/page.html /repos/bare/large.txt /repos/guide/script.js
  /repos/bare/pixel.png /notes.html /repos/tool/stable/ /repos/tool/latest/ /repos/tool/1.0/`.split(/\s+/)

const SITES: Readonly<Record<string, Site>> = {
  'one host': {
    settings: { http: { port: 0, allowed_hosts: ['*'] } },
    pages: COMMON_PAGES,
    headers: ['accept-encoding', 'if-none-match', 'range'],
  },
  'hosts of repositories': {
    settings: { http: { port: 0, repo_domain: 'docs.example' } },
    pages: ['/', '/index.html', '/script.js', '/notes.html', '/stable/'],
    headers: ['sec-fetch-site', 'sec-fetch-mode'],
  },
  'a proxy that names readers': {
    settings: {
      http: { port: 0, allowed_hosts: ['*'], trusted_proxies: ['127.0.0.0/8'] },
      header_auth: { header: 'X-User', groups_header: 'X-Groups' },
    },
    pages: COMMON_PAGES,
    headers: ['x-user', 'x-groups'],
  },
}

const BYTES = Buffer.from(Array.from({ length: 3_000 }, (_, i) => i % 256))
const files = (version: number): Readonly<Record<string, string | Buffer>> => ({
  'open/index.html': `open ${version}`,
  'open/404.html': 'not here',
  'hr/index.html': `<p>salaries ${version}`.repeat(200),
  'hr-new/a b.html': `new salaries ${version}`,
  'bare/page.html': `<p>ünï ${version}`.repeat(500),
  'bare/page.html.br': brotliCompressSync(`<p>ünï ${version}`.repeat(500)),
  'bare/large.txt': `${version} `.repeat(10_000),
  'bare/huge.bin': Buffer.concat(Array.from({ length: 20 }, () => BYTES)),
  'bare/pixel.png': BYTES,
  'bare/empty.css': '',
  'tool/_meta.json': JSON.stringify({
    versions: ['2.0', '1.0'],
    latest: '2.0',
    aliases: version % 2 === 0 ? { stable: '1.0' } : { stable: '2.0', next: '2.0' },
  }),
  'tool/1.0/index.html': `<h1>one ${version}</h1>`.repeat(100),
  'tool/2.0/index.html': `<h1>two ${version}</h1>`,
  'tool/2.0/index.html.br': brotliCompressSync(`<h1>two ${version}</h1>`),
  '../_root/notes.html': `notes ${version}`.repeat(300),
})

const PATHS = `/repos/open/ /repos/open /repos/open/x /repos/hr/ /repos/hr/index.html /repos/HR/ /repos/none/
  /repos/hr-new/a%20b.html /repos/hr-new/a+b.html /repos/ /repos/bare/page.html /repos/bare/large.txt
  /repos/bare/huge.bin /repos/bare/pixel.png /repos/bare/empty.css /repos/guide/ /repos/guide/script.js
  /repos/guide/%73cript.js /repos/guide/%2e%2e/hr/ /repos//hr/ /notes.html / /guide/ /index.html /script.js
  /repos/tool/2.0/ /repos/tool/stable/ /repos/tool/stable /repos/tool/next/ /tool /stable/ /latest/ /1.0/
  /index.html.md /repos/bare/page.html.md /repos/tool/stable/index.html.md /llms.txt /repos/guide/llms.txt
  /a%20b.html /_health /_page.css /_api/repos /metrics /openapi.json /%ff`.split(/\s+/)
const ENCODINGS = ['gzip', 'br', 'gzip, deflate, br, zstd', 'br;q=0.1, gzip', 'identity', '*', '']
const ACCEPTED = ['text/markdown', 'text/markdown, text/html;q=0.9', 'text/html, text/markdown;q=0.1', '*/*']
const DATES = ['Fri, 31 Dec 2100 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', 'yesterday']

/** Values of headers that earlier responses had. */
class Seen {
  readonly #values: Record<'etag' | 'last-modified', string[]> = { etag: ['"x"'], 'last-modified': [] }

  add({ headers }: SiteAnswer): void {
    for (const name of ['etag', 'last-modified'] as const) {
      const value = headers.find((each) => each.startsWith(`${name}: `))?.slice(name.length + 2)
      if (value !== undefined) this.#values[name] = [value, ...this.#values[name]].slice(0, 5)
    }
  }

  tag(random: Random): string {
    const tag = random.pick(this.#values.etag)
    return random.pick([tag, tag, `W/${tag}`, `"y", ${tag}`, '*', tag.slice(1)])
  }

  date(random: Random): string {
    return random.pick([...this.#values['last-modified'], ...DATES])
  }
}

const HEADERS: Readonly<Record<string, (random: Random, seen: Seen) => string>> = {
  accept: (random) => random.pick(ACCEPTED),
  'accept-encoding': (random) => random.pick(ENCODINGS),
  'if-none-match': (random, seen) => seen.tag(random),
  'if-modified-since': (random, seen) => seen.date(random),
  range: (random) => random.pick(['bytes=0-3', 'bytes=-5', 'bytes=99999999-', 'lines=1-2', '']),
  'if-range': (random, seen) => random.pick([seen.tag(random), seen.date(random)]),
  'sec-fetch-site': (random) => random.pick(['same-origin', 'same-site', 'cross-site', 'none']),
  'sec-fetch-mode': (random) => random.pick(['navigate', 'no-cors']),
  'x-user': (random) => random.pick(['ann', 'eve', '', 'x'.repeat(300)]),
  'x-groups': (random) => random.pick(['hr', 'x,hr', 'x']),
  origin: (random) => random.pick([`http://${COMMON}`, 'http://evil.example', 'null']),
  connection: () => 'close',
  authorization: (random) => random.pick(['Basic x', 'Bearer x', '']),
}

function plainRequest(random: Random, { pages }: Site): SiteRequest {
  const host = random.pick(HOSTS)
  const cookies = [`${random.pick(NAMES)}@${host}`]
  const nothing = { token: undefined, headers: {}, body: undefined }
  return { method: 'GET', path: random.pick(pages), hosts: [host], cookies, ...nothing }
}

/** Returns a request that differs in one part. */
function varied(random: Random, seen: Seen, asked: SiteRequest, site: Site): SiteRequest {
  const host = random.pick(HOSTS)
  const cookie = (): string =>
    random.pick([...NAMES, ...NAMES].map((name) => `${name}@${host}`).concat('_session=junk', 'a=b', ''))
  const withHeader = (names: readonly string[]) => (): Partial<SiteRequest> => {
    const name = random.pick(names)
    return { headers: { ...asked.headers, [name]: HEADERS[name]?.(random, seen) ?? '' } }
  }
  const variations: readonly (() => Partial<SiteRequest>)[] = [
    () => ({ method: random.pick(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT']) }),
    () => ({ path: random.pick(PATHS) }),
    () => ({ path: asked.path + random.pick(['?', '?x=1', '?q=salaries', '?/repos/hr/', '/', '/..']) }),
    () => ({ hosts: [host] }),
    () => ({ hosts: random.pick([[], [host, host], ['evil.example'], ['x y'], [host.toUpperCase()]]) }),
    () => ({ cookies: [cookie()] }),
    () => ({ cookies: [...asked.cookies, cookie()] }),
    () => ({ cookies: [] }),
    () => ({ token: random.pick([...TOKENS, 'cst_none']) }),
    () => ({ headers: {} }),
    withHeader(Object.keys(HEADERS)),
    withHeader(site.headers),
    withHeader(site.headers),
    withHeader(site.headers),
    () => ({ body: 'text' }),
  ]
  return { ...asked, ...random.pick(variations)() }
}

const LIST: SiteRequest = {
  method: 'GET',
  path: '/_api/repos',
  hosts: [COMMON],
  cookies: [],
  token: 'all',
  headers: {},
  body: undefined,
}

/** Causes an event on both servers, and returns its name. */
async function happen(
  random: Random,
  sites: readonly ComparedSite[],
  world: { readonly clock: FakeClock; readonly root: string; version: number },
): Promise<string> {
  const name = random.pick(NAMES)
  const events: Readonly<Record<string, () => unknown>> = {
    wait: () => world.clock.pass(random.pick([10, 500, 1_100, 1_100, 5_000, 25_000])),
    purge: () => sites.forEach((site) => site.purge()),
    change: () => writeSite(world.root, ++world.version),
    revoke: () => Promise.all(sites.map((site) => site.sessions.removeUser(name))),
    login: () => Promise.all(sites.map((site) => logInAll(site))),
    fail: () => sites.forEach((site) => (site.store.fails = 'down')),
    recover: () => sites.forEach((site) => (site.store.fails = 'no')),
    'add token': () => Promise.all(sites.map((site) => site.addToken('ci', ['hr', 'guide']))),
    'revoke token': () => Promise.all(sites.map((site) => site.sessions.removeToken('ci'))),
  }
  const event = random.pick([...Object.keys(events), 'wait', 'wait', 'recover', 'login', 'login'])
  if (event === 'login') for (const site of sites) site.store.fails = 'no'
  await events[event]?.()
  // The logs of reads read the list of repositories at any time.
  for (const each of sites) await each.ask(LIST)
  return event
}

async function logInAll(site: ComparedSite): Promise<void> {
  for (const name of NAMES) await site.logIn(name, HOSTS)
}

async function writeSite(root: string, version: number): Promise<void> {
  const store = new FsStore(root)
  for (const [path, content] of Object.entries(files(version)))
    await store.write(join('repos', path), Buffer.from(content))
  const folder = join(root, '../guide')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.html'), `guide ${version}`)
  writeFileSync(join(folder, 'script.js'), `console.log(${version}) //${'x'.repeat(2_000)}`)
  await publish({ folder, repo: 'guide', deletes: true }, { store, nowMs: 0 })
}

for (const [name, site] of Object.entries(SITES))
  test(`O8 responses from memory equal those of the routes: ${name}`, { timeout: 600_000 }, async () => {
    const answers = vi.spyOn(PagesInMemory.prototype, 'answer')
    onTestFinished(() => answers.mockRestore())
    const root = join(tempDir(), 'store')
    const world = { clock: new FakeClock(), root, version: 1 }
    await writeSite(root, world.version)
    const given = { root, settings: { ...SETTINGS, ...site.settings }, clock: world.clock }
    const early = await ComparedSite.start({ ...given, isRouted: false })
    const routed = await ComparedSite.start({ ...given, isRouted: true })
    const sites = [early, routed]
    for (const each of sites) await logInAll(each)
    for (const each of sites) await each.addToken('all', ['*'])
    const random = new Random(SEED)
    const seen = new Seen()
    const story: unknown[] = []
    let inMemory = 0
    let recent: readonly SiteRequest[] = []
    for (let i = 0; i < ROUNDS; i++) {
      if (random.chance(0.06)) story.push(await happen(random, sites, world))
      if (random.chance(0.1) || recent.length === 0)
        recent = [plainRequest(random, site), ...recent].slice(0, WORKING_SET)
      // Repeated requests are the ones that are answered from memory.
      let asked = random.pick(recent)
      while (random.chance(0.4)) asked = varied(random, seen, asked, site)
      story.push(asked)
      answers.mockClear()
      const one = await early.ask(asked)
      inMemory += answers.mock.results.filter(({ value }) => value !== undefined).length
      answers.mockClear()
      const other = await routed.ask(asked)
      expect(answers.mock.results.filter(({ value }) => value !== undefined)).toEqual([])
      // Counts differ as soon as one of them has been requested.
      if (asked.path.startsWith('/metrics')) continue
      expect({ story: story.slice(-12), answer: one }).toEqual({ story: story.slice(-12), answer: other })
      seen.add(one)
    }
    expect(inMemory).toBeGreaterThan(ROUNDS / 30)
    for (const each of sites) await logInAll(each)
    const metrics: SiteRequest = {
      ...plainRequest(random, site),
      path: '/metrics',
      hosts: [COMMON],
      cookies: [`ann@${COMMON}`],
    }
    expect(await early.counts(metrics)).toEqual(await routed.counts(metrics))
    const reads = await early.finish()
    expect(reads.length).toBeGreaterThan(ROUNDS / 10)
    // A version is added when a record is written, from the list of repositories as it then is.
    const withoutVersions = (lines: readonly string[]) =>
      lines.map((each) => each.replace(/,"version":"[^"]*"/, ''))
    expect(withoutVersions(reads)).toEqual(withoutVersions(await routed.finish()))
  })
