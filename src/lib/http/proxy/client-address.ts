import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, SocketAddress } from 'node:net'

interface Network {
  /** As `parseIp` returns it. */
  readonly address: string
  readonly family: 'ipv4' | 'ipv6'
  readonly bits: number
}

/** Bits of an IPv6 address before the IPv4 address that it may contain. */
const MAPPED_BITS = 96
const MAPPED = /^::ffff:(?=\d+\.)/
/** An entry of X-Forwarded-For (RFC 7239, section 6): an address, in brackets or not, with a port or not. */
const ENTRY = /^(?:\[(?<v6>[^\]]*)\]|(?<v4>[\d.]+))(?::\w+)?$/

/**
 * Returns why the server cannot trust a text as the address or network of a proxy, as the end of a sentence; undefined
 * if it can. As in nginx, bits after the prefix do not matter (`10.1.2.3/8`).
 */
export function networkMistake(text: string): string | undefined {
  if (parseNetwork(text) !== undefined) return undefined
  if (text.includes('%')) return 'has a zone, which means nothing on another host; leave out "%" and the zone'
  const [, ipv6 = '', bits] = /^(.*)\/(\d{1,2})$/.exec(text) ?? []
  const ipv4 = isIP(ipv6) === 6 ? parseIp(ipv6) : undefined
  if (ipv4 === undefined || isIP(ipv4) !== 4) return 'is not an IP address or CIDR range'
  return `contains all IPv4 addresses; write ${ipv4}/${Math.min(Number(bits), 32)}, if you mean that network`
}

/** Returns the first entry of a setting with a `networkMistake`, as a sentence with the setting's key. */
export function networksMistake(key: string, networks: readonly string[]): string | undefined {
  for (const each of networks) {
    const mistake = networkMistake(each)
    if (mistake !== undefined) return `"${key}": "${each}" ${mistake}`
  }
  return undefined
}

/** Determines the client of a request, with or without proxies. */
export class ClientAddress {
  // One list for both families would find IPv4 addresses in IPv6 networks such as ::/0.
  readonly #trusted = { ipv4: new BlockList(), ipv6: new BlockList() }

  /** @param trusted addresses and networks without a `networkMistake` */
  constructor(trusted: readonly string[]) {
    for (const each of trusted) {
      const network = parseNetwork(each)
      if (network === undefined) throw new Error(`${each} is not a network`)
      this.#trusted[network.family].addSubnet(network.address, network.bits, network.family)
    }
  }

  /** Whether the connection comes from one of the proxies. */
  isProxied(request: IncomingMessage): boolean {
    return this.#isTrusted(peerOf(request))
  }

  /**
   * Returns the last address that is not a trusted proxy's. Only a trusted proxy's entry of X-Forwarded-For counts: if
   * it cannot be read, the client may have written everything before it, and the address is that proxy's.
   */
  of(request: IncomingMessage): string {
    let address = peerOf(request)
    const entries = [request.headers['x-forwarded-for'] ?? ''].flat().join(',').split(',')
    while (this.#isTrusted(address)) {
      const before = parseEntry(entries.pop() ?? '')
      if (before === undefined) break
      address = before
    }
    return address
  }

  #isTrusted(address: string): boolean {
    const family = familyOf(address)
    return family !== undefined && this.#trusted[family].check(address, family)
  }
}

/** Returns the address of a connection in its usual form, an IPv4 address without the IPv6 form that servers for both have. */
export function peerOf({ socket: { remoteAddress = '' } }: IncomingMessage): string {
  return parseIp(remoteAddress) ?? remoteAddress
}

/** Parses an entry of X-Forwarded-For in any form that proxies write; undefined for other texts. */
function parseEntry(entry: string): string | undefined {
  const text = entry.trim().replace(/^"(.*)"$/, '$1')
  const { v4, v6 } = ENTRY.exec(text)?.groups ?? {}
  return parseIp(v4 ?? v6 ?? text)
}

function parseNetwork(text: string): Network | undefined {
  const [written = '', prefix, ...more] = text.split('/')
  const address = parseIp(written)
  const family = address === undefined || written.includes('%') ? undefined : familyOf(address)
  if (address === undefined || family === undefined || more.length > 0) return undefined
  const maxBits = family === 'ipv4' ? 32 : 128
  if (prefix === undefined) return { address, family, bits: maxBits }
  // The prefix of a mapped address counts the bits before the IPv4 address.
  const bits = Number(prefix) - (isIP(written) === 6 && family === 'ipv4' ? MAPPED_BITS : 0)
  return /^\d{1,3}$/.test(prefix) && bits >= 0 && bits <= maxBits ? { address, family, bits } : undefined
}

/** Returns an IP address in its usual form, without a zone; an IPv4 address that IPv6 contains becomes IPv4. */
function parseIp(text: string): string | undefined {
  const plain = text.replace(/%.*/, '')
  const family = isIP(text) === 0 ? undefined : familyOf(plain)
  if (family === undefined) return undefined
  return new SocketAddress({ address: plain, family }).address.replace(MAPPED, '')
}

function familyOf(address: string): Network['family'] | undefined {
  const version = isIP(address)
  return version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6'
}
