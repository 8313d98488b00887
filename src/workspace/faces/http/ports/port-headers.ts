import type { IncomingMessage } from 'node:http'
import type { CheckedRequest } from '../../../../lib/http/proxy/checked-request.ts'
import { endToEnd } from '../../../../lib/http/proxy/end-to-end.ts'
import { type Forwarder, toUpstream } from '../../../../lib/http/proxy/forwarded-headers.ts'
import type { HeaderPairs } from '../../../../lib/http/proxy/header-pairs.ts'
import { TRAFFIC_TOKEN } from '../e2b/access.ts'
import { ownSetCookie, withoutGrants } from './grant-cookie.ts'

/**
 * How a port is addressed: by its own host name, which is a separate origin; or by a path of the server's host, where content
 * from a workspace must not act with the rights of the server's own page.
 */
export type PortAddressing =
  { readonly is: 'host' } | { readonly is: 'path'; readonly prefix: string; readonly port: number }

/** No `allow-same-origin`: the content gets an opaque origin and cannot read anything of the server. */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

/** Response headers that would affect the server's whole host. */
const HOST_WIDE_HEADERS = new Set([
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'strict-transport-security',
])

/** Returns the request headers to send to the workspace, without the server's credentials. */
export function toGuest(
  request: CheckedRequest,
  addressing: PortAddressing,
  parts: { readonly forwarder: Forwarder; readonly hasToken: boolean },
): HeaderPairs {
  return toUpstream(request, parts.forwarder).flatMap(([name, value]): HeaderPairs => {
    const lower = name.toLowerCase()
    if ((lower === 'authorization' && parts.hasToken) || lower === TRAFFIC_TOKEN) return []
    if (addressing.is === 'path') {
      if (lower === 'host') return [[name, `localhost:${addressing.port}`]]
      // Cookies belong to the server's host, and the origin does not identify the page.
      return lower === 'cookie' || lower === 'origin' ? [] : [[name, value]]
    }
    if (lower !== 'cookie') return [[name, value]]
    const rest = withoutGrants(value)
    return rest === undefined ? [] : [[name, rest]]
  })
}

/** Returns the response headers to send to the browser. */
export function toBrowser(answer: IncomingMessage, addressing: PortAddressing): HeaderPairs {
  const passed = endToEnd(answer)
  // A domain-wide cookie would reach the ports of other workspaces.
  if (addressing.is === 'host')
    return passed.flatMap(([name, value]): HeaderPairs => {
      const own = name.toLowerCase() === 'set-cookie' ? ownSetCookie(value) : value
      return own === undefined ? [] : [[name, own]]
    })
  const safe = passed
    .filter(([name]) => !HOST_WIDE_HEADERS.has(name.toLowerCase()))
    .map(
      ([name, value]) =>
        [name, name.toLowerCase() === 'location' ? locationBelow(value, addressing) : value] as const,
    )
  return [...safe, ['Content-Security-Policy', SANDBOX], ['X-Content-Type-Options', 'nosniff']]
}

/** Rewrites a `Location` header to the port's path on the server. */
function locationBelow(location: string, { prefix, port }: PortAddressing & { readonly is: 'path' }): string {
  const own = new RegExp(`^https?://(?:localhost|127\\.0\\.0\\.1):${port}(?=/|$)`, 'i')
  const path = location.replace(own, '')
  if (path === '' && location !== '') return `${prefix}/`
  return path.startsWith('/') && !path.startsWith('//') ? prefix + path : location
}
