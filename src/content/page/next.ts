const THIS_SITE = 'http://here.invalid'
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f\\]/

/** Maximum length of `next`, in characters. */
export const MAX_NEXT = 4096

/**
 * Returns the path to open after the login: always one of this site, for any `next` (threat O1). Returns the result
 * of the URL parser that browsers use, not the input. A section may contain anything, because it is no part of the
 * address that is requested; one that is too long is left out.
 */
export function safeNext(next: string | undefined): string {
  const page = withoutSection(next ?? '')
  if (page.length > MAX_NEXT || !/^\/(?!\/)/.test(page) || FORBIDDEN.test(page)) return '/'
  if (!page.isWellFormed() || !URL.canParse(page, THIS_SITE)) return '/'
  const { origin, pathname, search } = new URL(page, THIS_SITE)
  // `/..//evil` becomes `//evil`.
  if (origin !== THIS_SITE || pathname.startsWith('//')) return '/'
  // These are not pages, and a login must not loop.
  if (/^\/_(?:admin|enter|log(?:in|out))(?:\/|$)/.test(pathname)) return '/'
  const path = pathname + search
  const { hash } = new URL(next?.slice(page.length) ?? '', THIS_SITE)
  return path.length + hash.length > MAX_NEXT ? path : path + hash
}

/** Returns the address of a page without its section. */
export function withoutSection(address: string): string {
  return address.replace(/#.*/s, '')
}

/** Returns the address of the login page that redirects back to a path. */
export function loginPath(path: string): string {
  return `/_login?next=${encodeURIComponent(path).replaceAll('%2F', '/')}`
}
