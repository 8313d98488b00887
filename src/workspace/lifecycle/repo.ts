import { fault } from '../errors.ts'

/** A repository to clone. */
export interface Repo {
  /** Form for display, logs and storage: without a password. */
  readonly url: string
  /** `user:password` of an http(s) URL, passed to git outside the process list (threat W3). */
  readonly credentials?: string
}

const SHORTHAND = /^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[A-Za-z0-9_.-]{1,100}$/
const SCP_LIKE = /^([A-Za-z0-9_.][A-Za-z0-9_.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):([A-Za-z0-9_~.+/-]+)$/
const SCHEMES = new Set(['https:', 'http:', 'ssh:', 'git:'])
const MAX_LENGTH = 2048

/**
 * Parses `owner/repo` (GitHub), `user@host:path`, or an https, http, ssh or git URL. Other forms that git
 * accepts, such as local paths and remote helpers, are refused.
 *
 * @throws INVALID_REPO_URL when the text is none of these
 */
export function parseRepo(text: string): Repo {
  if (text.length > MAX_LENGTH) throw invalid(text, `is longer than ${MAX_LENGTH} characters`)
  // Rules out line breaks, escapes and blanks in every form.
  if (/[^\x21-\x7e]/.test(text))
    throw invalid(text, 'contains a blank, a control character or non-ASCII text')
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
  if (/^\.+$/.test(name) || name === '.git') throw invalid(text, 'does not name a repository')
  return { url: `https://github.com/${owner}/${name}` }
}

function parseRepoUrl(text: string, original: string): Repo {
  if (!URL.canParse(text)) throw invalid(original, 'is not a URL')
  const url = new URL(text)
  if (!SCHEMES.has(url.protocol)) throw invalid(original, 'must use https, http, ssh or git')
  if (!/^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-f:.]+\])$/.test(url.hostname)) {
    throw invalid(original, 'has an invalid host name')
  }
  if (url.pathname === '/' || url.pathname === '') throw invalid(original, 'has no path to a repository')
  if (url.search !== '' || url.hash !== '') throw invalid(original, 'must not contain ? or #')
  // ssh and git interpret percent escapes differently, and a leading hyphen as an option.
  if (/%(?:00|0[ad]|2f|5c)/i.test(url.pathname) || url.pathname.startsWith('/-')) {
    throw invalid(original, 'has a path that git could misinterpret')
  }
  return withoutCredentials(url, original)
}

function withoutCredentials(url: URL, original: string): Repo {
  const { username, password, protocol } = url
  if (protocol === 'ssh:') {
    if (password !== '') throw invalid(original, 'must not contain a password; ssh uses keys')
    if (!/^(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*)?$/.test(username))
      throw invalid(original, 'has an invalid user name')
    return { url: url.href }
  }
  if (username === '' && password === '') return { url: url.href }
  if (protocol === 'git:') throw invalid(original, 'must not contain a user name')
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
