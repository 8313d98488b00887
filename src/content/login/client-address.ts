import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { configFault } from '../../lib/config/check.ts'

/** Determines the client of a request, with or without proxies. */
export class ClientAddress {
  readonly #trusted = new BlockList()

  /** @param trusted addresses and networks (`10.0.0.0/8`) @throws CONFIG_INVALID when one of them is neither */
  constructor(trusted: readonly string[]) {
    for (const each of trusted) {
      const [address = '', bits] = each.split('/')
      const family = isIP(address)
      const most = family === 4 ? 32 : 128
      if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
        throw configFault(
          'CONFIG_INVALID',
          `"http.trusted_proxies": "${each}" is not an IP address or CIDR range`,
        )
      this.#trusted.addSubnet(
        address,
        bits === undefined ? most : Number(bits),
        family === 4 ? 'ipv4' : 'ipv6',
      )
    }
  }

  /** Whether the connection comes from one of the proxies. */
  isProxied(request: IncomingMessage): boolean {
    return this.#isTrusted(request.socket.remoteAddress ?? '')
  }

  /** Returns the last address that is not a trusted proxy's. */
  of(request: IncomingMessage): string {
    const peer = request.socket.remoteAddress ?? ''
    if (!this.#isTrusted(peer)) return peer
    const named = [request.headers['x-forwarded-for'] ?? ''].flat().join(',').split(',')
    const others = named.map((each) => each.trim()).filter((each) => isIP(each) !== 0)
    return others.findLast((each) => !this.#isTrusted(each)) ?? others[0] ?? peer
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address)
    return family !== 0 && this.#trusted.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}
