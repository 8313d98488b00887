import type { IncomingMessage } from 'node:http'
import {
  endToEnd,
  type Forwarder,
  type HeaderPairs,
  toUpstream,
} from '../../../../lib/http/forwarded-headers.ts'

/** The cookie by which a browser that has shown a pass comes back. */
export const GRANT_COOKIE = 'workspace-port'

/**
 * How a port is reached: under a host name of its own, an origin of its own; or below a path of the server's host, where what a
 * workspace serves must be kept from using the server as the server's own page does.
 */
export type PortWay =
  { readonly is: 'host' } | { readonly is: 'path'; readonly prefix: string; readonly port: number }

/** Without `allow-same-origin`: what is served there is of no origin, and reads nothing of the server's. */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

/** What of an answer would speak for the server's whole host. */
const SPEAKS_FOR_HOST = new Set([
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'strict-transport-security',
])

/** A request's headers as the workspace gets them: nothing by which one could enter the server is among them. */
export function toGuest(
  request: IncomingMessage,
  way: PortWay,
  parts: { readonly forwarder: Forwarder; readonly bearsToken: boolean },
): HeaderPairs {
  return toUpstream(request, parts.forwarder).flatMap(([name, value]): HeaderPairs => {
    const lower = name.toLowerCase()
    if (lower === 'authorization' && parts.bearsToken) return []
    if (way.is === 'path') {
      if (lower === 'host') return [[name, `localhost:${way.port}`]]
      // Cookies of the server's host, and an origin that says nothing of a page below it.
      return lower === 'cookie' || lower === 'origin' ? [] : [[name, value]]
    }
    if (lower !== 'cookie') return [[name, value]]
    const rest = value
      .split(';')
      .map((each) => each.trim())
      .filter((each) => !each.startsWith(`${GRANT_COOKIE}=`))
    return rest.length === 0 ? [] : [[name, rest.join('; ')]]
  })
}

/** An answer's headers as the browser gets them. */
export function toBrowser(answer: IncomingMessage, way: PortWay): HeaderPairs {
  const passed = endToEnd(answer)
  // A cookie for a whole domain would reach the ports of other workspaces.
  if (way.is === 'host')
    return passed.map(([name, value]) =>
      name.toLowerCase() === 'set-cookie'
        ? [name, value.replaceAll(/;\s*domain=[^;]*/gi, '')]
        : [name, value],
    )
  const safe = passed
    .filter(([name]) => !SPEAKS_FOR_HOST.has(name.toLowerCase()))
    .map(
      ([name, value]) =>
        [name, name.toLowerCase() === 'location' ? locationBelow(value, way) : value] as const,
    )
  return [...safe, ['Content-Security-Policy', SANDBOX], ['X-Content-Type-Options', 'nosniff']]
}

/** Where a workspace leads to, as seen from outside. */
function locationBelow(location: string, { prefix, port }: PortWay & { readonly is: 'path' }): string {
  const own = new RegExp(`^https?://(?:localhost|127\\.0\\.0\\.1):${port}(?=/|$)`, 'i')
  const path = location.replace(own, '')
  if (path === '' && location !== '') return `${prefix}/`
  return path.startsWith('/') && !path.startsWith('//') ? prefix + path : location
}

/** The value of the grant's cookie in a request. */
export function grantOf({ headers }: IncomingMessage): string | undefined {
  for (const each of (headers.cookie ?? '').split(';')) {
    const [name, value] = each.trim().split('=')
    if (name === GRANT_COOKIE) return value
  }
  return undefined
}
