import { BlockList, isIP, isIPv4 } from 'node:net'
import type { TUnsafe } from 'typebox'
import type { Decoded } from '../../lib/config/decode.ts'
import { section } from '../../lib/config/fields.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'

/** What workspaces reach beyond this host: everything, everything but private networks, nothing, or what is listed. */
export type Egress = 'open' | 'internet' | 'none' | readonly string[]

/** What workspaces reach. Whatever it says, they never reach each other or a link-local address. */
export interface NetworkPolicy {
  /** Ports of this host that they may connect to. */
  readonly allowHostPorts: readonly number[]
  readonly egress: Egress
  /** Whether a list leaves out private addresses that its names stand for; default false. */
  readonly isPublicOnly?: boolean
}

const MODES = ['open', 'internet', 'none'] as const
const MOST_ENTRIES = 1_000
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i

/** Networks of organizations, which `internet` leaves out. Source: RFC 1918, RFC 6598, RFC 2544. */
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
    'what workspaces reach beyond this host: open (everything), internet (everything but private networks), none, or a list of names, addresses and networks such as [registry.npmjs.org, 10.1.0.0/16]',
})

export const networkSection = section({
  allow_host_ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
    default: [],
    description: 'ports of this host that workspaces may connect to; by default none',
  }),
  egress: egressKey,
})

/** @throws INVALID_REQUEST when an entry of the list is not a name, an IPv4 address or a network */
export function networkPolicy(settings: Decoded<typeof networkSection>): NetworkPolicy {
  return {
    allowHostPorts: parsePorts(settings.allowHostPorts),
    egress: parseEgress(settings.egress),
  }
}

/** Returns ports in order, each once. */
export function parsePorts(ports: readonly number[]): readonly number[] {
  return [...new Set(ports)].toSorted((a, b) => a - b)
}

/** Parses a mode, or a list; as one text, its entries have commas between them. @throws INVALID_REQUEST */
export function parseEgress(value: string | readonly string[]): Egress {
  const mode = MODES.find((each) => each === value)
  if (mode !== undefined) return mode
  const entries = (typeof value === 'string' ? value.split(',') : value).map((entry) => entry.trim())
  if (entries.length > MOST_ENTRIES)
    throw fault(
      'INVALID_REQUEST',
      `network.egress has ${entries.length} entries; at most ${MOST_ENTRIES} are possible`,
    )
  for (const entry of entries) {
    if (!isNetwork(entry) && !isHostName(entry))
      throw fault(
        'INVALID_REQUEST',
        `network.egress: "${entry}" is not ${MODES.join(', ')}, a host name, an IPv4 address or a network such as 10.1.0.0/16`,
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

/** Returns the address and the prefix length of a network, or of an address. */
export function splitNetwork(network: string): readonly [address: string, length: number] {
  const [address = '', length = '32'] = network.split('/')
  return [address, Number(length)]
}

/** Returns whether it is an IPv4 address or an IPv4 network in CIDR notation. */
export function isNetwork(entry: string): boolean {
  const [address = '', length = '32', ...rest] = entry.split('/')
  return rest.length === 0 && isIPv4(address) && /^\d{1,2}$/.test(length) && Number(length) <= 32
}

function isHostName(entry: string): boolean {
  // A name of digits and dots alone would be taken for an address by whoever resolves it.
  return (
    entry.length <= 253 &&
    isIP(entry) === 0 &&
    /[a-z]/i.test(entry) &&
    entry.split('.').every((label) => LABEL.test(label))
  )
}

/** Describes what a policy opens, in one sentence for people. */
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
      return 'everything beyond it but private networks'
    case 'none':
      return 'nothing beyond it'
    default:
      return `beyond it only ${egress.join(', ')}`
  }
}
