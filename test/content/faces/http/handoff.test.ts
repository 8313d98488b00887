import { expect, test } from 'vitest'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'
import { COMMON, loggedIn, startRepoHosts } from '../../../support/content/repo-site.ts'
import { tempDir } from '../../../support/temp-dir.ts'

/** Returns the address with a ticket to which the common host redirects a browser. */
async function ticketFor(browser: RepoBrowser, repo = 'guide'): Promise<URL> {
  const away = await browser.ask(`//${repo}.docs.example:99/`)
  const back = await browser.ask(String(away.headers['location']))
  expect(back.status).toBe(302)
  return new URL(String(back.headers['location']), 'http://x')
}

const addressOf = (url: URL): string => `//${url.host}${url.pathname}${url.search}`

test('O6 a ticket works once', async () => {
  const content = await startRepoHosts()
  const browser = await loggedIn(content)
  const ticket = addressOf(await ticketFor(browser))
  const [one, two] = await Promise.all([browser.ask(ticket), browser.ask(ticket)])
  expect([one.status, two.status].toSorted((a, b) => a - b)).toEqual([303, 403])
  // Back in the browser's history: the session already exists.
  expect((await browser.ask(ticket)).status).toBe(303)
})

test.each([
  ['of another browser', 0, (other: RepoBrowser, url: URL) => other.ask(addressOf(url))],
  [
    'for another host',
    0,
    async (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      await own.ask('//hr.docs.example:99/')
      return own.ask(addressOf(url).replace('guide', 'hr'))
    },
  ],
  [
    'for the common host',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => own.ask(addressOf(url).replace('guide.', '')),
  ],
  ['that has expired', 30_001, (_other: RepoBrowser, url: URL, own: RepoBrowser) => own.ask(addressOf(url))],
  [
    'of a session that has ended',
    0,
    async (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      await own.ask(`//${COMMON}/_logout`, 'POST')
      return own.ask(addressOf(url))
    },
  ],
  [
    'that was made up',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      url.searchParams.set('ticket', 'A'.repeat(43))
      return own.ask(addressOf(url))
    },
  ],
  [
    'that is malformed',
    0,
    (_other: RepoBrowser, url: URL, own: RepoBrowser) => {
      url.searchParams.append('ticket', '../..')
      return own.ask(addressOf(url))
    },
  ],
])('O6 a host refuses a ticket %s', async (_what, laterMs, use) => {
  let nowMs = 1_000_000
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs }
  const content = await startRepoHosts({ clock })
  const browser = await loggedIn(content)
  const other = new RepoBrowser(content.url)
  await other.ask('//guide.docs.example:99/')
  const url = await ticketFor(browser)
  nowMs += laterMs
  const { status, headers } = await use(other, url, browser)
  expect([403, 404]).toContain(status)
  expect(JSON.stringify(headers['set-cookie'] ?? [])).not.toContain('_session=')
})

test.each([
  '//evil.example/',
  'https://evil.example/',
  '/\\\\evil.example',
  '/..//evil.example',
  'javascript:alert(1)',
  '/_logout',
])('O1 a handoff never redirects to another site: %s', async (next) => {
  const browser = await loggedIn(await startRepoHosts())
  await browser.ask('//guide.docs.example:99/')
  const away = new URL(
    String((await browser.ask('//guide.docs.example:99/')).headers['location']),
    'http://x',
  )
  expect(away.host).toBe(COMMON)
  away.searchParams.set('next', next)
  const back = new URL(String((await browser.ask(addressOf(away))).headers['location']), 'http://x')
  expect(back.host).toBe('guide.docs.example:99')
  back.searchParams.set('next', next)
  expect((await browser.ask(addressOf(back))).headers['location']).toMatch(/^\/(?:evil\.example)?$/)
  for (const repo of ['evil.example', 'a/b', '..', '', 'guide:1', 'guide@evil.example']) {
    away.searchParams.set('repo', repo)
    const { headers } = await browser.ask(addressOf(away))
    expect(new URL(String(headers['location'] ?? '//x.docs.example'), 'http://x').hostname).toMatch(
      /\.docs\.example$/,
    )
  }
})

test('O7 several servers share handoffs, and a logout on one ends the sessions of all hosts on all servers', async () => {
  let nowMs = 1_000_000
  const clock = { nowMs: () => nowMs, wallMs: () => nowMs }
  const dir = tempDir()
  const [one, two] = [await startRepoHosts({ dir, clock }), await startRepoHosts({ dir, clock })]
  const browser = await loggedIn(one)
  const ticket = addressOf(await ticketFor(browser))
  browser.moveTo(two.url)
  expect((await browser.ask(ticket)).status).toBe(303)
  expect((await browser.ask('//guide.docs.example:99/')).body).toBe('guide')
  browser.moveTo(one.url)
  expect((await browser.ask('//guide.docs.example:99/')).body).toBe('guide')
  expect((await browser.ask(`//${COMMON}/_logout`, 'POST')).status).toBe(303)
  expect((await browser.ask('//guide.docs.example:99/')).status).toBe(302)
  browser.moveTo(two.url)
  nowMs += 1_000
  expect((await browser.ask('//guide.docs.example:99/')).status).toBe(302)
})
