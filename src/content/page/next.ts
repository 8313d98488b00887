const HERE = 'http://here.invalid'
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f\\]/

/**
 * Where a reader goes after the login: to a path of this site, whatever `next` says (threat O1). What the parser of browsers
 * makes of it is sent, not what came in.
 */
export function safeNext(next: string | undefined): string {
  if (next === undefined || next.length > 4096 || !/^\/(?!\/)/.test(next) || FORBIDDEN.test(next)) return '/'
  if (!next.isWellFormed() || !URL.canParse(next, HERE)) return '/'
  const { origin, pathname, search } = new URL(next, HERE)
  // `/..//evil` becomes `//evil`.
  if (origin !== HERE || pathname.startsWith('//')) return '/'
  // Nothing that is to be read is at these, and a login must not lead in a circle.
  if (/^\/_(?:admin|enter|log(?:in|out))(?:\/|$)/.test(pathname)) return '/'
  return pathname + search
}

/** The login page that leads back to a path. */
export function loginPath(path: string): string {
  return `/_login?next=${encodeURIComponent(path).replaceAll('%2F', '/')}`
}
