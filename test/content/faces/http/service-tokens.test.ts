import { expect, test } from 'vitest'
import { createSecret } from '../../../../src/content/session/service-token.ts'
import { digestOf } from '../../../../src/lib/http/secret-form.ts'
import {
  ACCESS,
  type AccessSite,
  HIDDEN,
  MISSING,
  renamed,
  seen,
  startAccessSite,
} from '../../../support/content/access-site.ts'
import { RepoBrowser } from '../../../support/content/repo-browser.ts'
import { addServiceToken } from '../../../support/content/service-token.ts'
import { routesIn } from '../../../support/content/routes.ts'

type Ask = (path: string, init?: RequestInit) => Promise<Response>

/** Creates a token as the command does, and returns a client that sends it. */
async function program(site: AccessSite, repos: readonly string[]) {
  const { secret, revoke } = await addServiceToken(site.dir, repos)
  const ask: Ask = (path, init = {}) =>
    site.askAnonymous(path, { ...init, headers: { authorization: `Bearer ${secret}` } })
  return { secret, ask, revoke }
}

test('O9 a token reads its repositories and public ones, in pages, lists and searches', async () => {
  const site = await startAccessSite(ACCESS.readers)
  const { ask, revoke } = await program(site, ['hr*'])
  for (const [path, status] of [
    [`/repos/${HIDDEN}/2.0/`, 200],
    ['/repos/hr-plain/', 200],
    ['/repos/open/', 200],
    ['/repos/shared/2.0/', 404],
    ['/shared/', 404],
    [`/${HIDDEN}/`, 302],
    ['/nowhere', 404],
    ['/notes.html', 404],
    ['/', 200],
    [`/repos/${HIDDEN}/2.0/index.html.md`, 200],
    [`/repos/${HIDDEN}/llms.txt`, 200],
    ['/repos/shared/llms.txt', 404],
    ['/repos/shared/2.0/index.html.md', 404],
    ['/_api/page?path=/repos/shared/2.0/', 404],
    ['/_api/pages?repo=shared', 404],
  ] as const)
    expect([path, (await ask(path)).status]).toEqual([path, status])
  expect((await site.as('bob', '/notes.html')).status).toBe(200)
  const names = ((await (await ask('/_api/repos')).json()) as { name: string }[]).map(({ name }) => name)
  expect(names).toEqual(['hr-broken', 'hr-plain', HIDDEN, 'open'])
  expect(await (await ask('/_api/search?q=the')).json()).toMatchObject({ total: 1, hits: [{ repo: HIDDEN }] })
  const list = await (await ask('/llms.txt')).text()
  expect([...list.matchAll(/^- \[(.*?)\]/gm)].map(([, name]) => name)).toEqual(names)
  await revoke()
})

test('O9 to a token a repository outside of its scope is like a missing one on every route', async () => {
  const site = await startAccessSite({ default: 'readers' })
  const { ask, revoke } = await program(site, ['shared'])
  const description = await (await site.as('ann', '/openapi.json')).text()
  const requests = (repo: string): readonly (readonly [string, string])[] => [
    ...routesIn(description)
      .filter(([method, path]) => method === 'GET' || !path.startsWith('/_log'))
      .map(([method, path]) => [method, `${path}?repo=${repo}&q=the&next=/repos/${repo}/`] as const),
    ...['', '/', '/2.0/', '/2.0', '/x'].flatMap((path) => [
      ['GET', `/repos/${repo}${path}`] as const,
      ['GET', `/${repo}${path}`] as const,
    ]),
  ]
  const missing = requests(MISSING)
  for (const [at, [method, path]] of requests(HIDDEN).entries())
    expect([method, path, renamed(await seen(await ask(path, { method })))]).toEqual([
      method,
      path,
      await seen(await ask(missing[at]?.[1] ?? '', { method })),
    ])
  await revoke()
})

test('O9 a token opens nothing but repositories, their lists and the search', async () => {
  const site = await startAccessSite(ACCESS.readers)
  const { ask, revoke } = await program(site, ['*'])
  const description = await (await site.as('ann', '/openapi.json')).text()
  const open = routesIn(description).filter(([, path]) => !/^\/_(?:health|login|logout|enter)/.test(path))
  const statuses = await Promise.all(
    open.map(async ([method, path]) => `${method} ${path} ${(await ask(path, { method })).status}`),
  )
  expect(statuses.filter((each) => !each.endsWith(' 403'))).toEqual([
    'GET /_api/repos 200',
    'GET /_api/versions 404',
    'GET /_api/pages 404',
    'GET /_api/search 200',
    'GET /_api/page 400',
  ])
  await revoke()
})

test('O9 an invalid, revoked or expired token is refused, and other credentials are left to proxies', async () => {
  const time = { nowMs: 0, aheadMs: 0 }
  const clock = { nowMs: () => time.nowMs, wallMs: () => Date.now() + time.aheadMs }
  const site = await startAccessSite(ACCESS.readers, 'hidden', { clock })
  const { ask, secret, revoke } = await program(site, ['*'])
  const page = `/repos/${HIDDEN}/2.0/`
  const status = async (authorization: string): Promise<number> =>
    (await site.askAnonymous(page, { headers: { authorization } })).status
  expect(await status(`bearer  ${secret}`)).toBe(200)
  for (const wrong of [createSecret(), `${secret}x`, secret.slice(0, -1), 'cst_'])
    expect([wrong, await status(`Bearer ${wrong}`)]).toEqual([wrong, 401])
  for (const other of ['Basic YTpi', 'Bearer eyJhbGciOi.x.y', 'Bearer', secret, digestOf(secret)])
    expect([other, await status(other)]).toEqual([other, 302])
  const refused = await site.askAnonymous('/_api/repos', { headers: { authorization: 'Bearer cst_x' } })
  expect([refused.headers.get('www-authenticate'), await refused.json()]).toMatchObject([
    'Bearer',
    { error: { code: 'UNAUTHORIZED' } },
  ])
  time.aheadMs = 3_600_001
  expect((await ask(page)).status).toBe(401)
  time.aheadMs = 0
  expect((await ask(page)).status).toBe(200)
  await revoke()
  time.nowMs += 1_000
  expect((await ask(page)).status).toBe(401)
  expect(JSON.stringify(site.log())).not.toContain(secret.slice(4))
})

test('O9 a token limits a reader who is logged in as well', async () => {
  const site = await startAccessSite(ACCESS.readers)
  const { secret, revoke } = await program(site, ['shared'])
  const headers = { authorization: `Bearer ${secret}` }
  expect((await site.as('ann', `/repos/${HIDDEN}/2.0/`)).status).toBe(200)
  expect((await site.as('ann', `/repos/${HIDDEN}/2.0/`, { headers })).status).toBe(404)
  await revoke()
})

test('O9 a token is valid on every host of a repository', async () => {
  const site = await startAccessSite(ACCESS.nobody, 'hidden', {
    settings: { http: { port: 0, repo_domain: 'docs.example' } },
  })
  const { secret, revoke } = await program(site, [HIDDEN])
  const browser = new RepoBrowser(site.url)
  browser.headers = { authorization: `Bearer ${secret}` }
  expect((await browser.go(`//docs.example/repos/${HIDDEN}/`)).body).toBe('secret page')
  expect((await browser.ask('//shared.docs.example/2.0/')).status).toBe(404)
  expect((await browser.ask(`//${MISSING}.docs.example/2.0/`)).status).toBe(404)
  await revoke()
})
