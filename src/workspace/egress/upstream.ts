import type { Agent as HttpAgent } from 'node:http'
import { lookup as lookupName, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP, isIPv6, type LookupFunction, type Socket, connect as connectPlain } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls, rootCertificates } from 'node:tls'
import { Agent } from '../../lib/http/node-http.ts'
import { blockListOf, PRIVATE_NETWORKS } from '../network/policy.ts'
import { LOCAL_NETWORKS } from '../network/ruleset.ts'
import type { EgressRule, EgressTarget, UpstreamServer } from './rules.ts'

const CONNECT_TIMEOUT_MS = 15_000
const IDLE_MS = 30_000
const MAX_IDLE = 32

/** Networks of IPv6 that are local or private, or contain IPv4 addresses. Source: IANA's IPv6 special-purpose address registry. */
const LOCAL_NETWORKS_V6 = [
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const

/** Servers of the operator, which may have any address. */
export type Destination = UpstreamServer & { readonly isTrusted: boolean }

/** Returns where a request that a rule allows is sent. */
export function destinationOf({ upstream }: EgressRule, target: EgressTarget): Destination {
  return upstream === undefined ? { ...target, isTrusted: false } : { ...upstream, isTrusted: true }
}

/** Connections of one workspace's egress proxy to servers. Workspaces share none. */
export class UpstreamConnections {
  readonly #authorities: readonly string[] | undefined
  readonly #agents = new Map<string, HttpAgent>()

  /** @param authorities PEM certificates that are trusted besides the public ones */
  constructor(authorities: string | undefined) {
    this.#authorities = authorities === undefined ? undefined : [...rootCertificates, authorities]
  }

  /** Returns the options by which requests reach a server: pooled connections, and a function for other ones. */
  to(destination: Destination) {
    const { scheme, host, port, isTrusted } = destination
    const createConnection = (): Socket => this.#connect(destination)
    const key = `${scheme} ${host} ${port} ${isTrusted}`
    let agent = this.#agents.get(key)
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS })
      agent.createConnection = createConnection
      this.#agents.set(key, agent)
    }
    return { host, port, agent, createConnection }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }

  #connect({ scheme, host, port, isTrusted }: Destination): Socket {
    const where = { host, port, lookup: isTrusted ? undefined : lookupPublic, autoSelectFamily: true }
    const options = Object.fromEntries(
      Object.entries(where).filter(([, value]) => value !== undefined),
    ) as typeof where & { lookup: LookupFunction }
    const socket =
      scheme === 'http'
        ? connectPlain(options)
        : connectTls({
            ...options,
            ...(isIP(host) === 0 && { servername: host }),
            ALPNProtocols: ['http/1.1'],
            minVersion: 'TLSv1.2',
            ...(this.#authorities !== undefined && { ca: [...this.#authorities] }),
          })
    // Heads and bodies are written apart, and each would wait for the acknowledgment of the one before.
    socket.setNoDelay(true)
    const late = setTimeout(
      () => socket.destroy(new Error(`${host} did not accept the connection within 15 s`)),
      CONNECT_TIMEOUT_MS,
    )
    const settle = (): void => clearTimeout(late)
    socket.once(scheme === 'http' ? 'connect' : 'secureConnect', settle).once('close', settle)
    return socket
  }
}

/**
 * Resolves a name to its addresses beyond this host and outside private networks. A name that an attacker controls could
 * resolve to any address, and to another one at each lookup; the connection is made to the addresses checked here.
 */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookupName(hostname, { ...options, all: true } as LookupOptions & { all: true }, (error, found) => {
    if (error !== null) return callback(error, [])
    const addresses = publicOnly(found)
    const [first] = addresses
    if (first === undefined) {
      const why = `${hostname} resolves only to addresses of this host or of private networks; set upstream in its rule to allow that`
      return callback(Object.assign(new Error(why), { code: 'EACCES' }), [])
    }
    if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  })
}

/** Two lists, because a list with the mapped addresses of IPv6 contains all of IPv4. */
const LOCAL_V4 = blockListOf([...LOCAL_NETWORKS, ...PRIVATE_NETWORKS])
const LOCAL_V6 = new BlockList()
for (const [network, length] of LOCAL_NETWORKS_V6) LOCAL_V6.addSubnet(network, length, 'ipv6')

/** Returns the addresses that are neither this host's, which change, nor in networks that are not public. */
export function publicOnly(found: readonly LookupAddress[]): readonly LookupAddress[] {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)),
  )
  const isLocal = ({ address }: LookupAddress): boolean =>
    own.has(address) || (isIPv6(address) ? LOCAL_V6.check(address, 'ipv6') : LOCAL_V4.check(address))
  return found.filter((each) => !isLocal(each))
}
