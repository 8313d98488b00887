import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { answerRequest } from '../../../../src/content/faces/cli/mcp/answer.ts'
import type { ToolRequest } from '../../../../src/content/faces/cli/mcp/tools.ts'
import { ContentClient } from '../../../../src/content/faces/cli/client.ts'
import { publish, type PublishRequest } from '../../../../src/content/publish/publish.ts'
import { unpublish } from '../../../../src/content/publish/unpublish.ts'
import { FsStore } from '../../../../src/content/store/fs-store.ts'
import type { Store } from '../../../../src/content/store/store.ts'
import { startContent, type TestContent } from '../../../support/content/content-server.ts'
import { FaultyStore } from '../../../support/content/faulty-store.ts'
import { addServiceToken } from '../../../support/content/service-token.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.now()
const END = new Date(START_MS + HOUR_MS).toISOString()
/** In every page of a preview, and nowhere else. */
const MARK = 'previewed'

type Files = Readonly<Record<string, string>>

function folderOf(files: Files): string {
  const folder = tempDir()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

const OWN = {
  'about.html': '<h1>About</h1>words',
  _redirects: '/rewritten/* /pr-42/:splat 200\n/pr-42/moved /1.0/ 301\n',
  '404.html': 'not in guide',
}
const RELEASE = { 'index.html': '<h1>One</h1>words' }
const PREVIEW = {
  'index.html': `<h1>${MARK}</h1>words`,
  'page.html': `<h1>${MARK} page</h1>words`,
  'big.css': `/* ${MARK} */ ${'a{} '.repeat(1_000)}`,
  _redirects: `/old /page.html 301\n/inner/* /page.html 200\n`,
  '404.html': `${MARK}: not found`,
}

/** Publishes previews beside a release; without previews, publishes and unpublishes them. */
async function publishSite(dir: string, hasPreviews: boolean): Promise<void> {
  const store = new FsStore(join(dir, 'store'))
  const run = (files: Files, request: Partial<PublishRequest>) =>
    publish(
      { folder: folderOf(files), repo: 'guide', deletes: true, ...request },
      { store, nowMs: START_MS, ttlMs: 300_000 },
    )
  await run(OWN, {})
  await run(RELEASE, { version: '1.0', aliases: ['stable'] })
  // A higher number than that of the release.
  for (const [repo, version] of [
    ['guide', 'pr-42'],
    ['guide', '9.0'],
    ['drafts', 'pr-7'],
  ] as const) {
    await run(PREVIEW, { repo, version, expiresAfterMs: HOUR_MS })
    if (!hasPreviews) await unpublish({ repo, version }, store)
  }
}

const HASH = createHash('sha256').update(PREVIEW['index.html']).digest('hex')
const BELOW = ['', 'index.html', 'page', 'page.html', 'page.html.md', 'big.css', 'none', 'old', 'inner/x']
const OTHERS = [
  'llms.txt',
  '_redirects',
  '_files.json',
  '_search.json',
  '404.html',
  `_objects/${HASH}`,
  'moved',
]
const PATHS = [
  ...['guide/pr-42', 'guide/9.0', 'drafts/pr-7'].flatMap((folder) => [
    `/repos/${folder}`,
    `/${folder}`,
    `/${folder}/page`,
    ...[...BELOW, ...OTHERS].map((path) => `/repos/${folder}/${path}`),
    `/_api/page?path=${encodeURIComponent(`/repos/${folder}/page.html`)}`,
  ]),
  ...['', '&version=pr-42', '&version=9.0', '&version=pr-7', '&version=latest'].flatMap((version) => [
    `/_api/search?q=words${version}`,
    `/_api/search?q=${MARK}${version}`,
    `/_api/search?q=words&repo=guide${version}`,
    `/_api/search?q=words&repo=drafts${version}`,
    `/_api/pages?repo=guide${version}`,
    `/_api/pages?repo=drafts${version}`,
    `/?q=words${version}`,
  ]),
  ...['guide', 'drafts'].flatMap((repo) => [
    `/${repo}`,
    `/repos/${repo}`,
    `/repos/${repo}/`,
    `/repos/${repo}/latest/`,
    `/repos/${repo}/stable/`,
    `/repos/${repo}/llms.txt`,
    `/_api/versions?repo=${repo}`,
  ]),
  '/',
  '/llms.txt',
  '/_api/repos',
  '/repos/guide/rewritten/page.html',
  '/repos/guide/about.html',
]
const TOOLS: readonly ToolRequest[] = [
  { is: 'list_repos' },
  { is: 'search', query: MARK, repo: undefined, version: 'pr-42' },
  { is: 'search', query: 'words', repo: undefined, version: undefined },
  { is: 'list_pages', repo: 'guide', version: 'pr-42' },
  { is: 'list_pages', repo: 'drafts', version: 'pr-7' },
  { is: 'read_page', page: '/repos/guide/pr-42/page.html', section: undefined },
]
const HEADERS: readonly Record<string, string>[] = [
  { 'accept-encoding': 'identity' },
  { 'accept-encoding': 'br' },
  { accept: 'text/markdown' },
]

/** Returns all responses of a site by request, without what differs between any two sites. */
async function responses(site: TestContent, secret: string): Promise<Readonly<Record<string, unknown>>> {
  const all: Record<string, unknown> = {}
  for (const path of PATHS)
    for (const headers of HEADERS) {
      const answer = await site.ask(path, { headers })
      const body = (await answer.text()).replaceAll(/name="token" value="[^"]*"/g, '')
      all[`${path} ${JSON.stringify(headers)}`] = [answer.status, answer.headers.get('location'), body]
    }
  const client = new ContentClient({ url: site.url, token: { secret } })
  const wanted = { offset: 0, maxTokens: 4_000, signal: new AbortController().signal }
  for (const request of TOOLS)
    all[JSON.stringify(request)] = await answerRequest(client, request, wanted).catch(
      ({ message }: Error) => message,
    )
  return all
}

async function startSite(hasPreviews: boolean, switcher: boolean) {
  const [dir, clock] = [tempDir(), new FakeClock()]
  await clock.pass(START_MS)
  await publishSite(dir, hasPreviews)
  const site = await startContent({}, { dir, clock, settings: { versions: { switcher } } })
  const { secret } = await addServiceToken(dir, ['*'], 10 * HOUR_MS)
  return { site, clock, all: () => responses(site, secret) }
}

for (const switcher of [false, true])
  test(
    `an expired version is not served, listed, found or resolved, from caches neither: switcher ${switcher}`,
    { tags: ['long'] },
    async () => {
      const preview = await startSite(true, switcher)
      const without = await startSite(false, switcher)
      for (const { clock } of [preview, without]) await clock.pass(HOUR_MS - 1)
      const before = await preview.all()
      const shown = Object.values(before).filter((answer) => JSON.stringify(answer).includes(MARK))
      expect(shown.length).toBeGreaterThan(60)
      // Twice: the second time from memory.
      await preview.all()
      for (const { clock } of [preview, without]) await clock.pass(1)
      const expected = await without.all()
      for (let i = 0; i < 2; i++) expect(await preview.all()).toEqual(expected)
    },
  )

test('F22 an expired version is not served while the store fails, unlike others', async () => {
  const [dir, clock] = [tempDir(), new FakeClock()]
  await clock.pass(START_MS)
  await publishSite(dir, true)
  const faulty = new FaultyStore(new FsStore(join(dir, 'store')))
  const site = await startContent({}, { dir, clock, store: () => faulty })
  const statuses = () =>
    Promise.all(
      ['/repos/guide/1.0/', '/repos/guide/pr-42/'].map(async (path) => (await site.ask(path)).status),
    )
  await clock.pass(HOUR_MS - 1)
  expect(await statuses()).toEqual([200, 200])
  faulty.fails = 'down'
  await clock.pass(300_001)
  expect(await statuses()).toEqual([200, 502])
})

test('a version that expires is listed with its end, and nothing resolves to it', async () => {
  const { site } = await startSite(true, false)
  const json = async (path: string): Promise<unknown> => (await site.ask(path)).json()
  expect(await json('/_api/versions?repo=guide')).toEqual({
    repo: 'guide',
    latest: '1.0',
    versions: [
      { version: '9.0', aliases: [], expires: END, url: '/repos/guide/9.0/' },
      { version: '1.0', aliases: ['latest', 'stable'], url: '/repos/guide/1.0/' },
      { version: 'pr-42', aliases: [], expires: END, url: '/repos/guide/pr-42/' },
    ],
  })
  expect(await json('/_api/repos')).toMatchObject([
    { name: 'drafts', versions: ['pr-7'], expires: { 'pr-7': END } },
    { name: 'guide', latest: '1.0', expires: { 'pr-42': END, '9.0': END } },
  ])
  expect(await (await site.ask('/')).text()).toContain(`pr-42 (until ${END.slice(0, 10)})`)
  expect((await site.ask('/repos/guide')).headers.get('location')).toBe('/repos/guide/1.0/')
  expect((await site.ask('/repos/drafts/')).status).toBe(404)
  expect(await json('/_api/search?q=words')).toMatchObject({ hits: [{ version: '1.0' }], unsearched: [] })
})

test('a renewed version is served again after the metadata is read again', async () => {
  const { site, clock } = await startSite(true, false)
  await clock.pass(HOUR_MS)
  expect((await site.ask('/repos/guide/pr-42/')).status).toBe(404)
  await publish(
    { folder: folderOf(PREVIEW), repo: 'guide', version: 'pr-42', expiresAfterMs: HOUR_MS, deletes: true },
    { store: site.store, nowMs: START_MS + HOUR_MS },
  )
  await clock.pass(300_001)
  expect((await site.ask('/repos/guide/pr-42/')).status).toBe(200)
  await clock.pass(HOUR_MS)
  expect((await site.ask('/repos/guide/pr-42/')).status).toBe(404)
})

test('a running server removes versions that expired a day ago, and logs it', async () => {
  const { site, clock } = await startSite(true, false)
  const files = async (folder: string): Promise<number> => {
    let count = 0
    for await (const { key } of site.store.list(folder)) if (key.startsWith(folder)) count++
    return count
  }
  // Each run plans the next.
  const hour = async (): Promise<void> => {
    await clock.pass(HOUR_MS)
    await waitFor('the end of the run', () => clock.timers > 0)
  }
  for (let i = 0; i < 24; i++) await hour()
  expect(await files('repos/guide/pr-42/')).toBeGreaterThan(0)
  for (let i = 0; i < 2; i++) await hour()
  for (const folder of ['repos/guide/pr-42/', 'repos/guide/9.0/', 'repos/drafts/pr-7/'])
    expect(await files(folder)).toBe(0)
  expect(await files('repos/guide/1.0/')).toBeGreaterThan(0)
  expect(site.log()).toContainEqual(
    expect.objectContaining({ msg: 'an expired version was removed from the store', version: 'pr-42' }),
  )
  expect((await site.ask('/repos/guide/_meta.json')).status).not.toBe(500)
})

test('a server that may not delete reports that once', { tags: ['long'] }, async () => {
  const [dir, clock] = [tempDir(), new FakeClock()]
  await clock.pass(START_MS)
  await publishSite(dir, true)
  const store = (inner: Store): Store => ({
    open: (...given) => inner.open(...given),
    list: (prefix) => inner.list(prefix),
    listNames: (prefix) => inner.listNames(prefix),
    write: (...given) => inner.write(...given),
    replace: (...given) => inner.replace(...given),
    remove: () => Promise.reject(new Error('access denied')),
    removeUnfinished: (...given) => inner.removeUnfinished(...given),
    close: () => undefined,
  })
  const site = await startContent({}, { dir, clock, store })
  for (let i = 0; i < 30; i++) {
    await clock.pass(HOUR_MS)
    await waitFor('the end of the run', () => clock.timers > 0)
  }
  const warnings = site.log().filter(({ msg }) => String(msg).includes('were not removed'))
  expect(warnings.map(({ repo }) => repo)).toEqual(['drafts', 'guide'])
})
