import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Whether a text is an IP address, or a network such as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  if (isIP(address) === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsOf(address))
}

function bitsOf(address: string): number {
  return isIP(address) === 4 ? 32 : 128
}

/** Determines the client of a request, with or without proxies. */
export class ClientAddress {
  readonly #trusted = new BlockList()

  /** @param trusted addresses and networks, of which `isNetwork` is true */
  constructor(trusted: readonly string[]) {
    for (const each of trusted) {
      const [address = '', bits] = each.split('/')
      const isIpv4 = isIP(address) === 4
      this.#trusted.addSubnet(
        address,
        bits === undefined ? bitsOf(address) : Number(bits),
        isIpv4 ? 'ipv4' : 'ipv6',
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
