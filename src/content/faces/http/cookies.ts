import type { IncomingMessage } from 'node:http'
import type { ContentConfig } from '../../config.ts'
import type { Flow } from '../../login/openid.ts'

const SESSION = '_session'
const FLOW = '_login_flow'
const FLOW_PATH = '/_login/oidc'
const FLOW_MAX_AGE_S = 600

/** The value of the session's cookie; undefined where there is none. */
export function sessionIdOf(request: IncomingMessage): string | undefined {
  return cookieOf(request, SESSION)
}

/** The cookie of a session, with the attributes of the specification. */
export function sessionCookie(id: string, { session, http }: ContentConfig): string {
  return [
    `${SESSION}=${id}`,
    'Path=/',
    // With hosts for repositories one login counts on all of them.
    ...(http.repoDomain === undefined ? [] : [`Domain=${http.repoDomain}`]),
    `Max-Age=${id === '' ? 0 : Math.floor(session.maxAgeMs / 1000)}`,
    'HttpOnly',
    ...(session.isSecure ? ['Secure'] : []),
    'SameSite=Lax',
  ].join('; ')
}

/** What the browser keeps while its user is at the provider; empty to forget it. */
export function flowCookie(flow: Flow | undefined, { session }: ContentConfig): string {
  const value = flow === undefined ? '' : Buffer.from(JSON.stringify(flow)).toString('base64url')
  return [
    `${FLOW}=${value}`,
    `Path=${FLOW_PATH}`,
    `Max-Age=${flow === undefined ? 0 : FLOW_MAX_AGE_S}`,
    'HttpOnly',
    ...(session.isSecure ? ['Secure'] : []),
    'SameSite=Lax',
  ].join('; ')
}

export function flowOf(request: IncomingMessage): Flow | undefined {
  try {
    const flow = JSON.parse(Buffer.from(cookieOf(request, FLOW) ?? '', 'base64url').toString()) as Record<
      keyof Flow,
      unknown
    >
    const { state, nonce, verifier, next } = flow
    return typeof state === 'string' && typeof nonce === 'string' && typeof verifier === 'string'
      ? { state, nonce, verifier, next: String(next) }
      : undefined
  } catch {
    return undefined
  }
}

function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const cookies = request.headers.cookie
  if (cookies === undefined) return undefined
  for (const each of cookies.split(';')) {
    const at = each.indexOf('=')
    if (at !== -1 && each.slice(0, at).trim() === name) return each.slice(at + 1).trim()
  }
  return undefined
}
