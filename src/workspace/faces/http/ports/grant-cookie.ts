import type { IncomingMessage } from 'node:http'

const NAME = 'workspace-port'
/** Browsers accept this prefix only from the host itself over TLS, so pages of sibling hosts cannot set such a cookie. */
const HOST_PREFIX = '__Host-'

/** Returns the `Set-Cookie` header that admits a browser after it has redeemed a ticket. */
export function grantCookie(grant: string, maxAgeS: number, hasTls: boolean): string {
  const cookie = `${nameFor(hasTls)}=${grant}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax`
  return hasTls ? `${cookie}; Secure` : cookie
}

/** Returns the values of all grant cookies of a request; there are several if a page of another host has set one. */
export function grantsOf({ headers }: IncomingMessage, hasTls: boolean): readonly string[] {
  return cookiesOf(headers.cookie ?? '')
    .filter((cookie) => cookieName(cookie) === nameFor(hasTls))
    .map((cookie) => cookie.slice(cookie.indexOf('=') + 1).trim())
}

/** Removes grants, which a workspace must not see, from a `Cookie` header; returns undefined if no other cookie remains. */
export function withoutGrants(header: string): string | undefined {
  const cookies = cookiesOf(header)
  const own = cookies.filter((cookie) => !isGrantName(cookieName(cookie)))
  if (own.length === cookies.length) return header
  return own.length === 0 ? undefined : own.join('; ')
}

/**
 * Removes the domain, which would expose the cookie to other workspaces' ports, from a workspace's `Set-Cookie` header. Returns
 * undefined for a cookie that would replace a grant. Parses the header as browsers do. Source: RFC 6265bis, 5.7.
 */
export function ownSetCookie(header: string): string | undefined {
  const [pair = '', ...attributes] = header.split(';')
  if (isGrantName(cookieName(pair))) return undefined
  const isDomain = (attribute: string): boolean => cookieName(attribute).toLowerCase() === 'domain'
  return attributes.some(isDomain)
    ? [pair, ...attributes.filter((each) => !isDomain(each))].join(';')
    : header
}

function nameFor(hasTls: boolean): string {
  return hasTls ? HOST_PREFIX + NAME : NAME
}

function isGrantName(name: string): boolean {
  return name === nameFor(true) || name === nameFor(false)
}

function cookiesOf(header: string): readonly string[] {
  return header
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

/** Returns the name of a cookie or attribute, without the whitespace that browsers trim. */
function cookieName(pair: string): string {
  return (pair.split('=')[0] ?? '').trim()
}
