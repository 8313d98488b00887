import { expect, test } from 'vitest'
import { startContent } from '../../support/content/content-server.ts'
import { type ReportedClaims, startLoginProvider } from '../../support/content/login-provider.ts'
import { freePort } from '../../support/services/free-port.ts'

/** Follows redirects as a browser does, with a cookie jar for each host and port, without cookies that are too long. */
async function browse(start: string, jar = new Map<string, Map<string, string>>()) {
  let url = start
  for (let hops = 0; hops < 12; hops++) {
    const { host } = new URL(url)
    const cookies = jar.get(host) ?? new Map<string, string>()
    jar.set(host, cookies)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const each of response.headers.getSetCookie()) {
      if (each.length > 4_096) continue
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) return { url, status: response.status, text: await response.text(), cookies, jar }
    url = new URL(location, url).href
  }
  throw new Error('too many redirects')
}

async function startWithProvider(
  oidc: object,
  email = 'ada@docs.example',
  isVerified: unknown = true,
  more: { readonly access?: object; readonly groups?: unknown; readonly reported?: ReportedClaims } = {},
) {
  const port = await freePort()
  const issuer = await startLoginProvider(
    `http://127.0.0.1:${port}/_login/oidc/callback`,
    email,
    isVerified,
    more.groups,
    more.reported,
  )
  const settings = {
    http: { port },
    oidc: { issuer, client_id: 'docs', client_secret: 'hidden', label: 'Our SSO', ...oidc },
    ...(more.access !== undefined && { access: more.access }),
  }
  return startContent({ 'repos/a/index.html': 'secret page' }, { settings })
}

test('a reader logs in with a real OpenID provider and gets the requested page', async () => {
  const { url, log, askAnonymous } = await startWithProvider({ allowed_domains: ['docs.example'] })
  expect(await (await askAnonymous('/_login')).text()).toContain('Log in with Our SSO')
  const end = await browse(`${url}/_login/oidc?next=/repos/a/`)
  expect([end.url, end.status, end.text]).toEqual([`${url}/repos/a/`, 200, 'secret page'])
  const section = await browse(`${url}/_login/oidc?next=${encodeURIComponent('/repos/a/#part')}`)
  expect(section.url).toBe(`${url}/repos/a/#part`)
  expect(log().find(({ event, by }) => event === 'login' && by === 'oidc')).toMatchObject({
    user: 'ada@docs.example',
  })
})

test.each([
  [true, 200, ''],
  ['true', 200, ''],
  [false, 403, 'claim &quot;email_verified&quot; is false'],
  ['false', 403, 'claim &quot;email_verified&quot; is &quot;false&quot;'],
  [null, 403, 'claim &quot;email_verified&quot; is null'],
  [1, 403, 'claim &quot;email_verified&quot; is 1'],
])(
  'an address whose claim email_verified is %j has status %i, with the reason',
  async (claim, status, reason) => {
    const { url, log } = await startWithProvider(
      { allowed_domains: ['docs.example'] },
      'Ada@docs.example',
      claim,
    )
    const end = await browse(`${url}/_login/oidc?next=/repos/a/`)
    expect(end.status).toBe(status)
    expect(end.text).toContain(reason)
    if (status === 403)
      expect(log().at(-1)).toMatchObject({
        event: 'login_failed',
        why: expect.stringContaining('ada@docs.example (claim "email_verified" is '),
      })
  },
)

test('an account without an address, and one of another domain, are refused for that reason', async () => {
  const oidc = { allowed_domains: ['docs.example'] }
  const refused = async (email: string) =>
    (await browse(`${(await startWithProvider(oidc, email, false)).url}/_login/oidc`)).text
  expect(await refused('')).toContain('claim &quot;email&quot;')
  expect(await refused('ada@other.example')).toContain('<p>ada@other.example is not allowed to log in')
})

const ADA = { email: 'ada@docs.example' }
const missing = 'claim &quot;email_verified&quot; is missing'

test.each([
  ['no endpoint', { idToken: ADA }, missing],
  ['403', { idToken: ADA, userInfo: 403 }, missing],
  ['500', { idToken: ADA, userInfo: 500 }, missing],
  ['no claims', { idToken: ADA, userInfo: {} }, missing],
  ['no endpoint', { idToken: { email: 'ada@other.example' } }, 'not allowed to log in'],
  ['500', { idToken: { email: 'ada@other.example' }, userInfo: 500 }, 'not allowed to log in'],
  ['no endpoint', { idToken: {} }, 'claim &quot;email&quot;'],
  ['500', { idToken: {}, userInfo: 500 }, 'with Our SSO failed: unexpected HTTP response'],
] as const)('with %s for user info, %j is refused, because: %s', async (_what, reported, reason) => {
  const { url, log } = await startWithProvider({ allowed_domains: ['docs.example'] }, '', true, { reported })
  const end = await browse(`${url}/_login/oidc`)
  expect(end.status).toBe(403)
  expect(end.text).toContain(reason)
  expect(log().at(-1)).toMatchObject({ event: 'login_failed' })
})

test('without limits, an account without user info logs in, and one whose groups are unknown does not', async () => {
  const [withNone, failing] = [{ idToken: ADA }, { idToken: ADA, userInfo: 500 }]
  const groups = { groups_claim: 'groups' }
  const statusOf = async (oidc: object, reported: ReportedClaims) => {
    const { url } = await startWithProvider(oidc, '', true, { reported })
    return (await browse(`${url}/_login/oidc?next=/repos/a/`)).status
  }
  expect(await statusOf({}, { idToken: {} })).toBe(200)
  expect(await statusOf(groups, withNone)).toBe(200)
  expect(await statusOf({}, failing)).toBe(200)
  expect(await statusOf(groups, failing)).toBe(403)
})

test.each([
  ['another address', { allowed_emails: ['bob@docs.example'] }, true],
  ['another domain', { allowed_domains: ['example'] }, true],
  ['an address that is not verified', { allowed_domains: ['docs.example'] }, false],
])('an account with %s is refused', async (_what, oidc, isVerified) => {
  const { url, log } = await startWithProvider(oidc, 'ada@docs.example', isVerified)
  const end = await browse(`${url}/_login/oidc`)
  expect(end.status).toBe(403)
  expect(end.cookies.has('_session')).toBe(false)
  expect(log().at(-1)).toMatchObject({ event: 'login_failed' })
})

test.each([
  ['a list of groups', ['x', 'hr'], {}, 200],
  ['one group', 'hr', {}, 200],
  ['other groups', ['hr-x', 'HR'], {}, 404],
  ['a claim of another type', { hr: true }, {}, 404],
  ['groups without the scope', ['hr'], { scope: 'openid email' }, 404],
  ['groups in another claim', ['hr'], { groups_claim: 'roles' }, 404],
] as const)('O8 a provider reports %s', async (_what, groups, oidc, status) => {
  const settings = { scope: 'openid email groups', groups_claim: 'groups', ...oidc }
  const access = { rules: [{ repos: ['a'], groups: ['hr'] }] }
  const { url } = await startWithProvider(settings, 'ada@docs.example', true, { access, groups })
  expect((await browse(`${url}/_login/oidc?next=/repos/a/`)).status).toBe(status)
})

test.each([
  [true, 200],
  [false, 404],
])('O8 an address that is verified (%s) is in its domain and is its user', async (isVerified, status) => {
  for (const rule of [{ email_domains: ['docs.example'] }, { users: ['Ada@docs.example'] }]) {
    const access = { rules: [{ repos: ['a'], ...rule }] }
    const { url } = await startWithProvider({}, 'ada@docs.example', isVerified, { access })
    expect((await browse(`${url}/_login/oidc?next=/repos/a/`)).status).toBe(status)
  }
})

test('O8 an address in the ID token that only the user info confirms is in its domain', async () => {
  const reported = { idToken: ADA, userInfo: { ...ADA, email_verified: true } }
  for (const [rule, isIn] of [
    [{ email_domains: ['docs.example'] }, true],
    [{ users: ['ada@docs.example'] }, true],
    [{ email_domains: ['other.example'] }, false],
  ] as const) {
    const access = { rules: [{ repos: ['a'], ...rule }] }
    const { url } = await startWithProvider({}, '', true, { access, reported })
    expect((await browse(`${url}/_login/oidc?next=/repos/a/`)).status).toBe(isIn ? 200 : 404)
  }
})

test('O1 next cannot leave the site through the provider either', async () => {
  const { url } = await startWithProvider({})
  expect((await browse(`${url}/_login/oidc?next=//evil.com/x`)).url).toBe(`${url}/`)
})

test.each([
  ['is kept', `/repos/a/#${'x'.repeat(2_000)}`, `/repos/a/#${'x'.repeat(2_000)}`],
  ['is dropped from the page', `/repos/a/#${'x'.repeat(3_500)}`, '/repos/a/'],
  ['is dropped after quotes', `/repos/a/#${'\\'.repeat(2_000)}`, '/repos/a/'],
  ['is dropped with the page', `/repos/a/?${'x'.repeat(3_500)}#part`, '/'],
])('a browser that limits cookies logs in, and a long section %s', async (_what, next, opened) => {
  const { url } = await startWithProvider({})
  const end = await browse(`${url}/_login/oidc?next=${encodeURIComponent(next)}`)
  expect([end.url, end.status]).toEqual([url + opened, 200])
})

test('O2 a callback that this browser did not start is refused', async () => {
  const { url } = await startWithProvider({})
  const stranger = await browse(`${url}/_login/oidc/callback?code=x&state=y`)
  expect([stranger.status, stranger.cookies.has('_session')]).toEqual([403, false])
  const flow = Buffer.from(JSON.stringify({ state: 'mine', nonce: 'n', verifier: 'v', next: '/' })).toString(
    'base64url',
  )
  const jar = new Map([[new URL(url).host, new Map([['_login_flow', flow]])]])
  const other = await browse(`${url}/_login/oidc/callback?code=x&state=theirs`, jar)
  expect([other.status, other.cookies.has('_session')]).toEqual([403, false])
})

test('a provider that does not respond causes 502, and passwords still work', async () => {
  const oidc = { issuer: `http://127.0.0.1:${await freePort()}`, client_id: 'docs' }
  const { askAnonymous, logIn } = await startContent({}, { settings: { oidc } })
  expect((await askAnonymous('/_login/oidc')).status).toBe(502)
  expect((await logIn()).status).toBe(303)
})
