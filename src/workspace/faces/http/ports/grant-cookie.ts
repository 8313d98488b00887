import type { IncomingMessage } from 'node:http'

const NAME = 'workspace-port'
/** Browsers accept this prefix only from the host itself, over TLS: no page of a neighboring host can set such a cookie. */
const HOST_PREFIX = '__Host-'

/** Returns the `Set-Cookie` by which a browser that has shown a pass comes back. */
export function grantCookie(grant: string, maxAgeS: number, hasTls: boolean): string {
  const cookie = `${nameFor(hasTls)}=${grant}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax`
  return hasTls ? `${cookie}; Secure` : cookie
}

/** Returns the values of all grant cookies of a request; more than one where another host's page has set its own. */
export function grantsOf({ headers }: IncomingMessage, hasTls: boolean): readonly string[] {
  return cookiesOf(headers.cookie ?? '')
    .filter((cookie) => cookieName(cookie) === nameFor(hasTls))
    .map((cookie) => cookie.slice(cookie.indexOf('=') + 1).trim())
}

/** Returns a `Cookie` header without grants, which a workspace must not see; undefined if it held nothing else. */
export function withoutGrants(header: string): string | undefined {
  const cookies = cookiesOf(header)
  const own = cookies.filter((cookie) => !isGrantName(cookieName(cookie)))
  if (own.length === cookies.length) return header
  return own.length === 0 ? undefined : own.join('; ')
}

/**
 * Returns a `Set-Cookie` of a workspace without its domain, which would send it to the ports of other workspaces; undefined for
 * one that would replace a grant. It is taken apart as browsers do. Source: RFC 6265bis, 5.7.
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

/** Returns the name of a cookie or of an attribute, without the blanks that browsers trim. */
function cookieName(pair: string): string {
  return (pair.split('=')[0] ?? '').trim()
}
