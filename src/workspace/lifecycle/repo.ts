import { fault } from '../errors.ts'

/** A repository to clone. */
export interface Repo {
  /** As shown, logged and stored: without a password. */
  readonly url: string
  /** `user:password` of an http(s) URL, handed to git out of sight of the process list (threat W3). */
  readonly credentials?: string
}

const SHORTHAND = /^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[A-Za-z0-9_.-]{1,100}$/
const SCP_LIKE = /^([A-Za-z0-9_.][A-Za-z0-9_.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):([A-Za-z0-9_~.+/-]+)$/
const SCHEMES = new Set(['https:', 'http:', 'ssh:', 'git:'])
const MAX_LENGTH = 2048

/**
 * Reads `owner/repo` (GitHub), `user@host:path`, or an https, http, ssh or git URL. Everything else git would accept,
 * local paths and helper programs among it, is refused.
 */
export function parseRepo(text: string): Repo {
  if (text.length > MAX_LENGTH) throw invalid(text, `is longer than ${MAX_LENGTH} characters`)
  // One rule against line breaks, escapes and blanks in every form.
  if (/[^\x21-\x7e]/.test(text)) throw invalid(text, 'holds a blank, a control character or non-ASCII text')
  if (SHORTHAND.test(text)) return githubRepo(text)
  const scpLike = SCP_LIKE.exec(text)
  if (scpLike)
    return parseRepoUrl(`ssh://${scpLike[1]}@${scpLike[2]}/${scpLike[3]?.replace(/^\//, '')}`, text)
  if (!text.includes('://'))
    throw invalid(text, 'is neither owner/repo nor a URL, such as git/git or https://example.com/x.git')
  return parseRepoUrl(text, text)
}

function githubRepo(text: string): Repo {
  const [owner, name] = text.split('/') as [string, string]
  if (/^\.+$/.test(name) || name === '.git') throw invalid(text, 'names no repository')
  return { url: `https://github.com/${owner}/${name}` }
}

function parseRepoUrl(text: string, original: string): Repo {
  if (!URL.canParse(text)) throw invalid(original, 'is not a URL')
  const url = new URL(text)
  if (!SCHEMES.has(url.protocol)) throw invalid(original, 'must use https, http, ssh or git')
  if (!/^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-f:.]+\])$/.test(url.hostname)) {
    throw invalid(original, 'names no usable host')
  }
  if (url.pathname === '/' || url.pathname === '') throw invalid(original, 'has no path to a repository')
  if (url.search !== '' || url.hash !== '') throw invalid(original, 'must have no ? or # part')
  // ssh and git read percent escapes in ways of their own, and a leading hyphen as an option.
  if (/%(?:00|0[ad]|2f|5c)/i.test(url.pathname) || url.pathname.startsWith('/-')) {
    throw invalid(original, 'has a path that git could misread')
  }
  return withoutCredentials(url, original)
}

function withoutCredentials(url: URL, original: string): Repo {
  const { username, password, protocol } = url
  if (protocol === 'ssh:') {
    if (password !== '') throw invalid(original, 'must not hold a password; ssh uses keys')
    if (!/^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*)?$/.test(username)) throw invalid(original, 'has a bad user name')
    return { url: url.href }
  }
  if (username === '' && password === '') return { url: url.href }
  if (protocol === 'git:') throw invalid(original, 'must not hold a user name')
  url.username = ''
  url.password = ''
  return { url: url.href, credentials: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }
}

function invalid(text: string, why: string) {
  return fault('INVALID_REPO_URL', `repository ${JSON.stringify(maskUserInfo(text).slice(0, 120))} ${why}`)
}

function maskUserInfo(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//…@')
}
