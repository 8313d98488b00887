import { text } from 'node:stream/consumers'
import { formatIndex } from '../../../src/content/search/search-index.ts'
import { cheapHash } from './cheap-hash.ts'
import { cookieOf, startContent, type TestContent } from './content-server.ts'

/** A hidden repository and a missing one, with names of equal length. */
export const [HIDDEN, MISSING] = ['hrhr', 'none']

/** Ann is in the group that may read the hidden repositories; Bob is not. */
const USERS = [
  { name: 'ann', password_hash: cheapHash('ann'), groups: ['hr'] },
  { name: 'bob', password_hash: cheapHash('bob') },
]

/** Access rules in which everyone else may read all other repositories, or only some. */
export const ACCESS = {
  readers: {
    rules: [
      { repos: ['open'], public: true },
      { repos: ['hr*'], groups: ['hr'] },
    ],
  },
  nobody: {
    default: 'nobody',
    rules: [
      { repos: ['open'], public: true },
      { repos: ['shared'], readers: true },
      { repos: ['hr*'], users: ['ann'] },
    ],
  },
}

async function indexOf(...texts: readonly string[]): Promise<string> {
  return text(
    formatIndex(texts.map((each, at) => ({ path: `${at}.html`, title: '', text: each, sections: [] }))),
  )
}

/** Returns the files of a site, with or without its hidden repositories. */
async function accessFiles(has: 'hidden' | 'none'): Promise<Record<string, string>> {
  const versions = JSON.stringify({
    versions: ['2.0', '1.0'],
    latest: '2.0',
    aliases: { stable: '1.0' },
    description: 'A secret plan',
  })
  const visible = {
    '_root/notes.html': 'notes of the site',
    'repos/open/index.html': 'open page',
    'repos/open/404.html': 'nothing here',
    'repos/shared/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
    'repos/shared/2.0/index.html': 'shared page',
    'repos/shared/2.0/_search.json': await indexOf('the salad of the day', 'dependencies'),
    'repos/open/_search.json': await indexOf('open deployment'),
  }
  if (has === 'none') return visible
  return {
    ...visible,
    [`repos/${HIDDEN}/_meta.json`]: versions,
    [`repos/${HIDDEN}/404.html`]: 'secret 404',
    [`repos/${HIDDEN}/a b.html`]: 'secret page',
    [`repos/${HIDDEN}/2.0/index.html`]: 'secret page',
    [`repos/${HIDDEN}/2.0/_search.json`]: await indexOf('the salary of Alice', 'dependencias', 'salads'),
    [`repos/${HIDDEN}/1.0/_search.json`]: await indexOf('the salary of Bob'),
    'repos/hr-broken/_search.json': '{"format":2,"pages":[\n',
    'repos/hr-plain/index.html': 'secret page',
  }
}

/** A server whose readers may read different repositories. */
export interface AccessSite extends TestContent {
  /** Requests a path as a reader. */
  readonly as: (who: 'ann' | 'bob' | 'visitor', path: string, init?: RequestInit) => Promise<Response>
}

/** Starts a site with access rules. */
export async function startAccessSite(
  access: object,
  has: 'hidden' | 'none' = 'hidden',
  given: Parameters<typeof startContent>[1] = {},
): Promise<AccessSite> {
  const content = await startContent(await accessFiles(has), {
    ...given,
    settings: { users: USERS, access, ...given.settings },
  })
  const cookies = {
    ann: cookieOf(await content.logIn({ username: 'ann', password: 'ann' })),
    bob: cookieOf(await content.logIn({ username: 'bob', password: 'bob' })),
    visitor: '',
  }
  const as: AccessSite['as'] = (who, path, init = {}) => {
    const headers = { ...(init.headers as Record<string, string>), cookie: cookies[who] }
    return content.askAnonymous(path, { ...init, headers })
  }
  return { ...content, as }
}

/** Returns everything that a client sees of a response, without what differs each time. */
export async function seen(response: Response): Promise<object> {
  const { date: _date, 'keep-alive': _keep, ...headers } = Object.fromEntries(response.headers)
  return { status: response.status, headers, body: masked(await response.text()) }
}

/** Replaces ids and tokens. */
export function masked(body: string): string {
  return body.replaceAll(/[\w-]{43,45}/g, 'ID')
}

/** Returns spellings of a name in paths and hosts. */
export function spellingsOf(repo: string): readonly string[] {
  const upper = repo.toUpperCase()
  const encoded = `%${repo.charCodeAt(0).toString(16)}${repo.slice(1)}`
  return [repo, upper, encoded, Buffer.from(upper).toString('hex')]
}

/** Replaces the hidden name by the missing one. */
export function renamed(value: unknown): unknown {
  const others = spellingsOf(MISSING)
  const other = spellingsOf(HIDDEN).reduce(
    (before, spelling, at) =>
      before.replaceAll(spelling.replace('%', ''), others[at]?.replace('%', '') ?? ''),
    JSON.stringify(value),
  )
  return JSON.parse(other)
}
