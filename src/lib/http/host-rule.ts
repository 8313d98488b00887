import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { httpFault } from './faults.ts'

/**
 * Refuses requests that a browser was tricked into sending under another site's name (DNS rebinding, threat H1)
 * and requests that name two hosts (H7). Allowed: IP literals, `localhost`, `*.localhost`, this machine's name and the
 * configured names; `*.example.org` allows all names below a domain, `*` all there are.
 */
export function createHostRule(allowedHosts: readonly string[]): (request: IncomingMessage) => void {
  const names = new Set(['localhost', hostname(), ...allowedHosts].map((name) => name.toLowerCase()))
  const anyHost = names.has('*')
  const domains = ['*.localhost', ...names]
    .filter((name) => name.startsWith('*.'))
    .map((name) => name.slice(1))
  /** Headers that passed before: parsing a name takes as long as the rest of the rule. */
  const passed = new Set<string>()
  return (request) => {
    const host = singleHost(request)
    if (request.url?.startsWith('/') === true && passed.has(host)) return
    const target = absoluteFormAuthority(request.url ?? '')
    if (target !== undefined && target.toLowerCase() !== host.toLowerCase()) {
      throw httpFault(
        'INVALID_REQUEST',
        `the request line names host "${target}" but the Host header names "${host}"`,
      )
    }
    const name = hostName(host)
    if (name === undefined)
      throw httpFault('INVALID_REQUEST', `Host header "${host}" is not of the form host[:port]`)
    if (anyHost || isIP(name) !== 0 || names.has(name) || domains.some((domain) => name.endsWith(domain))) {
      if (passed.size < MAX_PASSED) passed.add(host)
      return
    }
    throw httpFault(
      'FORBIDDEN_HOST',
      `host "${name}" is not served here; use an IP address or localhost, or add it to http.allowed_hosts`,
    )
  }
}

const HOST = 'host'
const MAX_PASSED = 100

function singleHost(request: IncomingMessage): string {
  const { rawHeaders } = request
  let host: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== HOST.length || name.toLowerCase() !== HOST) continue
    if (host !== undefined) throw httpFault('INVALID_REQUEST', 'the request has more than one Host header')
    host = rawHeaders[i + 1]
  }
  if (host === undefined || host === '') throw httpFault('INVALID_REQUEST', 'the request has no Host header')
  return host
}

function absoluteFormAuthority(url: string): string | undefined {
  if (url.startsWith('/')) return undefined
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1]
}

/** Returns the name in `host[:port]` in lower case, without a final dot or an IPv6 literal's brackets. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?$/i.exec(host)
  const [, ipv6, plain] = match ?? []
  if (ipv6 !== undefined) return isIP(ipv6) === 6 ? ipv6.toLowerCase() : undefined
  return plain?.toLowerCase().replace(/\.$/, '')
}
