import type { IncomingMessage } from 'node:http'
import { httpFault } from './faults.ts'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses requests caused by a page of another origin (threats H2, H3). The algorithm is that of Go
 * 1.25's CrossOriginProtection: trust Sec-Fetch-Site, or else compare Origin with Host; without both it is not a browser.
 *
 * @param hasEffect whether a safe method changes something on this route
 */
export function checkOrigin(request: IncomingMessage, hasEffect: boolean): void {
  if (SAFE_METHODS.has(request.method ?? 'GET') && !hasEffect) return
  const site = request.headers['sec-fetch-site']
  if (site === 'same-origin' || site === 'none') return
  const origin = request.headers.origin
  if (site === undefined) {
    if (origin === undefined || originHost(origin) === request.headers.host?.toLowerCase()) return
  }
  throw httpFault(
    'FORBIDDEN_ORIGIN',
    `a page of ${origin ?? 'another site'} may not ${request.method} ${request.url?.split('?')[0]} here`,
  )
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
