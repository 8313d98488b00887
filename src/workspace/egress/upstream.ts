import type { Agent as HttpAgent } from 'node:http'
import type { LookupAddress, LookupOptions } from 'node:dns'
import dns from 'node:dns/promises'
import { BlockList, isIP, isIPv6, type LookupFunction, type Socket, connect as connectPlain } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import { Admission } from '../../lib/clock/admission.ts'
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
  readonly #context: SecureContext
  /** By scheme and trust; each pools by host and port, and forgets hosts without connections. */
  readonly #agents = new Map<string, HttpAgent>()
  readonly #lookups = new Admission(1)

  /** @param authorities PEM certificates that are trusted besides the public ones */
  constructor(authorities: string | undefined) {
    this.#context = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(authorities !== undefined && { ca: [...rootCertificates, authorities] }),
    })
  }

  /** Returns the options by which requests reach a server: pooled connections, and a function for other ones. */
  to(destination: Destination) {
    const { scheme, host, port, isTrusted } = destination
    const key = `${scheme} ${isTrusted}`
    let agent = this.#agents.get(key)
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE, timeout: IDLE_MS })
      agent.createConnection = (at) =>
        this.#connect({ scheme, host: String(at.host), port: Number(at.port), isTrusted })
      this.#agents.set(key, agent)
    }
    return { host, port, agent, createConnection: () => this.#connect(destination) }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }

  /**
   * The lookup of sockets, which try all addresses. A name that an attacker controls could resolve to any address, and to another one at each
   * lookup; the connection is made to the addresses checked here. A workspace looks up one name at a time.
   */
  readonly #lookup: LookupFunction = callbackify((hostname: string, options: LookupOptions) => {
    const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
    return this.#lookups.run(signal, ignoreWait, () =>
      ALL_LOOKUPS.run(signal, ignoreWait, () => lookUpPublic(hostname, options)),
    )
  })

  #connect({ scheme, host, port, isTrusted }: Destination): Socket {
    const options = { host, port, autoSelectFamily: true, ...(!isTrusted && { lookup: this.#lookup }) }
    const socket =
      scheme === 'http'
        ? connectPlain(options)
        : connectTls({
            ...options,
            ...(isIP(host) === 0 && { servername: host }),
            ALPNProtocols: ['http/1.1'],
            secureContext: this.#context,
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

/** Names that are looked up at once, of all workspaces: each occupies one of the few threads that files need too. */
const ALL_LOOKUPS = new Admission(2)
const ignoreWait = (): void => undefined

/** Returns the addresses of a name that are beyond this host and outside private networks. @throws EACCES when it has none */
async function lookUpPublic(hostname: string, options: LookupOptions): Promise<LookupAddress[]> {
  const found = await dns.lookup(hostname, { ...options, all: true })
  const addresses = publicOnly(found)
  if (addresses.length > 0) return addresses
  const why = `${hostname} resolves only to addresses of this host or of private networks; set upstream in its rule to allow that`
  throw Object.assign(new Error(why), { code: 'EACCES' })
}

/** Two lists, because a list with the mapped addresses of IPv6 contains all of IPv4. */
const LOCAL_V4 = blockListOf([...LOCAL_NETWORKS, ...PRIVATE_NETWORKS])
const LOCAL_V6 = new BlockList()
for (const [network, length] of LOCAL_NETWORKS_V6) LOCAL_V6.addSubnet(network, length, 'ipv6')

/** Returns the addresses that are neither this host's, which change, nor in networks that are not public. */
export function publicOnly(found: readonly LookupAddress[]): LookupAddress[] {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)),
  )
  const isLocal = ({ address }: LookupAddress): boolean =>
    own.has(address) || (isIPv6(address) ? LOCAL_V6.check(address, 'ipv6') : LOCAL_V4.check(address))
  return found.filter((each) => !isLocal(each))
}
