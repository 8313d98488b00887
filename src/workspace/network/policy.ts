import { BlockList, isIP, isIPv4 } from 'node:net'
import type { TUnsafe } from 'typebox'
import type { Decoded } from '../../lib/config/decode.ts'
import { section } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'

/**
 * Network destinations allowed to workspaces beyond this host: all, all except private networks, none, or a
 * list.
 */
export type Egress = 'open' | 'internet' | 'none' | readonly string[]

/** Network policy of workspaces. Regardless of it, they never reach each other or a link-local address. */
export interface NetworkPolicy {
  /** Ports of this host that they may connect to. */
  readonly allowHostPorts: readonly number[]
  readonly egress: Egress
  /** Whether to exclude private addresses that the names of a list resolve to; defaults to false. */
  readonly isPublicOnly?: boolean
}

const MODES = ['open', 'internet', 'none'] as const
const MOST_ENTRIES = 1_000
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i

/** Networks of organizations, which `internet` excludes. Source: RFC 1918, RFC 6598, RFC 2544. */
export const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '198.18.0.0/15',
] as const

const egressKey: TUnsafe<string | string[]> = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  items: { type: 'string', minLength: 1 },
  default: 'open',
  description:
    'what workspaces can reach beyond this host: open (everything), internet (everything except private networks), none, or a list of names, addresses and networks such as [registry.npmjs.org, 10.1.0.0/16]',
})

/** Config section `network`. */
export const networkSection = section({
  allow_host_ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
    default: [],
    description: 'ports of this host that workspaces may connect to; default none',
  }),
  egress: egressKey,
})

/**
 * Resolves the section.
 *
 * @throws INVALID_REQUEST when a list entry is not a name, an IPv4 address or a network
 */
export function networkPolicy(settings: Decoded<typeof networkSection>): NetworkPolicy {
  return {
    allowHostPorts: parsePorts(settings.allowHostPorts),
    egress: parseEgress(settings.egress),
  }
}

/** Sorts ports and removes duplicates. */
export function parsePorts(ports: readonly number[]): readonly number[] {
  return [...new Set(ports)].toSorted((a, b) => a - b)
}

/**
 * Parses a mode, or a list, which may be one comma-separated text.
 *
 * @throws INVALID_REQUEST when an entry is not valid
 */
export function parseEgress(value: string | readonly string[]): Egress {
  const mode = MODES.find((each) => each === value)
  if (mode !== undefined) return mode
  const entries = (typeof value === 'string' ? value.split(',') : value).map((entry) => entry.trim())
  if (entries.length > MOST_ENTRIES)
    throw fault(
      'INVALID_REQUEST',
      `network.egress has ${entries.length} entries; the limit is ${MOST_ENTRIES}`,
    )
  for (const entry of entries) {
    if (!isNetwork(entry) && !isHostName(entry))
      throw fault(
        'INVALID_REQUEST',
        `network.egress: "${entry}" is not one of ${MODES.join(', ')}, a host name, an IPv4 address or a network such as 10.1.0.0/16`,
      )
  }
  return entries
}

/** Returns a list to check addresses against. */
export function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) list.addSubnet(...splitNetwork(network))
  return list
}

/** Returns the address and prefix length of a network or an address. */
export function splitNetwork(network: string): readonly [address: string, length: number] {
  const [address = '', length = '32'] = network.split('/')
  return [address, Number(length)]
}

/** Returns whether a network or address lies within a network. */
export function isPartOf(part: string, whole: string): boolean {
  const [address, length] = splitNetwork(part)
  return splitNetwork(whole)[1] <= length && blockListOf([whole]).check(address)
}

/** Returns whether a text is an IPv4 address or an IPv4 network in CIDR notation. */
export function isNetwork(entry: string): boolean {
  const [address = '', length = '32', ...rest] = entry.split('/')
  return rest.length === 0 && isIPv4(address) && /^\d{1,2}$/.test(length) && Number(length) <= 32
}

/** Returns whether a text is a host name, not an address. */
export function isHostName(entry: string): boolean {
  // Resolvers treat a name of only digits and dots as an address.
  return (
    entry.length <= 253 &&
    isIP(entry) === 0 &&
    /[a-z]/i.test(entry) &&
    entry.split('.').every((label) => LABEL.test(label))
  )
}

/** Describes a policy in one sentence for people. */
export function describePolicy({ allowHostPorts, egress }: NetworkPolicy): string {
  const host =
    allowHostPorts.length === 0 ? 'nothing on this host' : `ports ${allowHostPorts.join(', ')} of this host`
  return `${host}; ${describeEgress(egress)}`
}

function describeEgress(egress: Egress): string {
  switch (egress) {
    case 'open':
      return 'everything beyond it'
    case 'internet':
      return 'everything beyond it except private networks'
    case 'none':
      return 'nothing beyond it'
    default:
      return `beyond it only ${egress.join(', ')}`
  }
}
