import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import {
  blockListOf,
  type Egress,
  isNetwork,
  type NetworkPolicy,
  parseEgress,
  parsePorts,
  PRIVATE_NETWORKS,
  splitNetwork,
} from './policy.ts'

/** The most that one workspace may reach, below its server's policy. */
export interface NetworkLimits {
  /** Ports of this host; default the server's. */
  readonly allowHostPorts?: readonly number[] | undefined
  /** Default the server's. */
  readonly egress?: Egress | undefined
}

/** Limits as clients and records write them. */
export const networkLimitsSchema = Type.Object(
  {
    allow_host_ports: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        description: 'of the ports that the server opens; default all of them',
      }),
    ),
    egress: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String({ minLength: 1 }))], {
        description: "open, internet, none, or a list; no more than the server's network.egress, its default",
      }),
    ),
  },
  { additionalProperties: false },
)
export type WireNetworkLimits = Static<typeof networkLimitsSchema>

/**
 * Parses the limits of a workspace that is being created; undefined for none.
 *
 * @throws INVALID_REQUEST for what the server's policy does not allow, and where its backend has a network that limits do not hold in
 */
export function parseNetworkLimits(
  wire: WireNetworkLimits | null | undefined,
  { isIsolated, policy }: { readonly isIsolated: boolean; readonly policy: NetworkPolicy },
): NetworkLimits | undefined {
  const limits = limitsFromWire(wire)
  if (limits === undefined) return undefined
  if (!isIsolated)
    throw fault(
      'INVALID_REQUEST',
      'network: this server does not isolate the network of that backend, so no limit would hold; leave network out',
    )
  const widened = (limits.allowHostPorts ?? []).find((port) => !policy.allowHostPorts.includes(port))
  if (widened !== undefined)
    throw fault(
      'INVALID_REQUEST',
      `network.allow_host_ports: the server does not open port ${widened} (its network.allow_host_ports: ${policy.allowHostPorts.join(', ') || 'none'})`,
    )
  requireNarrower(limits.egress, policy)
  return limits
}

/** Returns limits that were checked when they were written down. @throws INVALID_REQUEST where they cannot be understood */
export function limitsFromWire(wire: WireNetworkLimits | null | undefined): NetworkLimits | undefined {
  const { allow_host_ports: ports, egress } = wire ?? {}
  if (ports === undefined && egress === undefined) return undefined
  return {
    ...(ports !== undefined && { allowHostPorts: parsePorts(ports) }),
    ...(egress !== undefined && { egress: parseEgress(egress) }),
  }
}

export function limitsToWire({ allowHostPorts, egress }: NetworkLimits): WireNetworkLimits {
  return {
    ...(allowHostPorts !== undefined && { allow_host_ports: [...allowHostPorts] }),
    ...(egress !== undefined && { egress: typeof egress === 'string' ? egress : [...egress] }),
  }
}

/** Names limits: the same for the same ones, '' for none. */
export function keyOfLimits(limits: NetworkLimits | undefined): string {
  return limits === undefined ? '' : JSON.stringify(limitsToWire(limits))
}

/** Returns what a workspace reaches: what both the server's policy, which may be another than at its creation, and its limits allow. */
export function narrowed(policy: NetworkPolicy, limits: NetworkLimits | undefined): NetworkPolicy {
  const { allowHostPorts, egress } = limits ?? {}
  return {
    ...policy,
    ...(allowHostPorts !== undefined && {
      allowHostPorts: policy.allowHostPorts.filter((port) => allowHostPorts.includes(port)),
    }),
    ...(egress !== undefined && egressOfBoth(policy, egress)),
  }
}

function egressOfBoth(
  { egress: server }: NetworkPolicy,
  own: Egress,
): Pick<NetworkPolicy, 'egress' | 'isPublicOnly'> {
  if (server === 'none' || own === 'none') return { egress: 'none' }
  if (server === 'open') return { egress: own }
  if (own === 'open') return { egress: server }
  if (server === 'internet') return own === 'internet' ? { egress: own } : publicPart(own)
  if (own === 'internet') return publicPart(server)
  return { egress: own.filter((entry) => isWithin(server, entry)) }
}

function publicPart(list: readonly string[]): Pick<NetworkPolicy, 'egress' | 'isPublicOnly'> {
  return { egress: list.filter((entry) => !touchesPrivate(entry)), isPublicOnly: true }
}

function requireNarrower(own: Egress | undefined, policy: NetworkPolicy): void {
  if (own === undefined) return
  const allowed = egressOfBoth(policy, own).egress
  if (typeof own === 'string') {
    // The public part of a list is narrower than either.
    if (allowed === own || (own === 'internet' && typeof allowed !== 'string')) return
    throw widening(own, policy)
  }
  const refused = typeof allowed === 'string' ? own[0] : own.find((entry) => !allowed.includes(entry))
  if (refused !== undefined) throw widening(refused, policy)
}

function widening(entry: string, { egress }: NetworkPolicy) {
  return fault(
    'INVALID_REQUEST',
    `network.egress: "${entry}" is more than the server allows (its network.egress: ${typeof egress === 'string' ? egress : egress.join(', ')})`,
  )
}

function isWithin(list: readonly string[], entry: string): boolean {
  if (!isNetwork(entry)) return list.some((name) => name.toLowerCase() === entry.toLowerCase())
  return list.some((network) => isNetwork(network) && isPartOf(entry, network))
}

/** Whether a network has private addresses; those of a name are known once it is looked up. */
function touchesPrivate(entry: string): boolean {
  return (
    isNetwork(entry) &&
    PRIVATE_NETWORKS.some((network) => isPartOf(entry, network) || isPartOf(network, entry))
  )
}

function isPartOf(part: string, whole: string): boolean {
  const [address, length] = splitNetwork(part)
  return splitNetwork(whole)[1] <= length && blockListOf([whole]).check(address)
}
