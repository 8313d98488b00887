import type { IncomingMessage } from 'node:http'
import type { CheckedRequest } from '../../../../lib/http/proxy/checked-request.ts'
import { endToEnd } from '../../../../lib/http/proxy/end-to-end.ts'
import { type Forwarder, toUpstream } from '../../../../lib/http/proxy/forwarded-headers.ts'
import type { HeaderPairs } from '../../../../lib/http/proxy/header-pairs.ts'
import { ownSetCookie, withoutGrants } from './grant-cookie.ts'

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
  request: CheckedRequest,
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
    const rest = withoutGrants(value)
    return rest === undefined ? [] : [[name, rest]]
  })
}

/** An answer's headers as the browser gets them. */
export function toBrowser(answer: IncomingMessage, way: PortWay): HeaderPairs {
  const passed = endToEnd(answer)
  // A cookie for a whole domain would reach the ports of other workspaces.
  if (way.is === 'host')
    return passed.flatMap(([name, value]): HeaderPairs => {
      const own = name.toLowerCase() === 'set-cookie' ? ownSetCookie(value) : value
      return own === undefined ? [] : [[name, own]]
    })
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
