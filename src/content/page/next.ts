const THIS_SITE = 'http://here.invalid'
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f\\]/

/**
 * Returns the path to open after the login: always one of this site, for any `next` (threat O1). Returns the result
 * of the URL parser that browsers use, not the input.
 */
export function safeNext(next: string | undefined): string {
  if (next === undefined || next.length > 4096 || !/^\/(?!\/)/.test(next) || FORBIDDEN.test(next)) return '/'
  if (!next.isWellFormed() || !URL.canParse(next, THIS_SITE)) return '/'
  const { origin, pathname, search, hash } = new URL(next, THIS_SITE)
  // `/..//evil` becomes `//evil`.
  if (origin !== THIS_SITE || pathname.startsWith('//')) return '/'
  // These are not pages, and a login must not loop.
  if (/^\/_(?:admin|enter|log(?:in|out))(?:\/|$)/.test(pathname)) return '/'
  return pathname + search + hash
}

/** Returns the address of the login page that redirects back to a path. */
export function loginPath(path: string): string {
  return `/_login?next=${encodeURIComponent(path).replaceAll('%2F', '/')}`
}
