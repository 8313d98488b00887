import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'
import {
  type Egress,
  isNetwork,
  isPartOf,
  type NetworkPolicy,
  parseEgress,
  parsePorts,
  PRIVATE_NETWORKS,
} from './policy.ts'

/** Network policy of one backend's workspaces. */
export interface NetworkReach {
  /** Whether the server isolates them from the host and from each other. */
  readonly isIsolated: boolean
  readonly policy: NetworkPolicy
  /** Names of the server's egress profiles. */
  readonly egressProfiles: readonly string[]
}

/** Limits that narrow the server's network policy for one workspace. */
export interface NetworkLimits {
  /** Ports of this host; defaults to the server's. */
  readonly allowHostPorts?: readonly number[] | undefined
  /** Defaults to the server's. */
  readonly egress?: Egress | undefined
  /** Name of the egress profile, whose proxy is then the only way beyond this host. */
  readonly egressProfile?: string | undefined
}

/** Limits as written by clients and in records. */
export const networkLimitsSchema = Type.Object(
  {
    allow_host_ports: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        description: 'subset of the host ports that the server opens; default all',
      }),
    ),
    egress: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String({ minLength: 1 }))], {
        description:
          "open, internet, none, or a list; at most the server's network.egress, which is the default",
      }),
    ),
    egress_profile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'egress profile of the server; requests of its rules, through its proxy, are then the only way beyond this host. Excludes egress',
      }),
    ),
  },
  { additionalProperties: false },
)
/** Wire format of network limits. */
export type WireNetworkLimits = Static<typeof networkLimitsSchema>

/**
 * Parses the limits in a create request; undefined for none.
 *
 * @throws INVALID_REQUEST when the server's policy does not allow them, or the backend's network cannot
 * enforce limits
 */
export function parseNetworkLimits(
  wire: WireNetworkLimits | null | undefined,
  { isIsolated, policy, egressProfiles }: NetworkReach,
): NetworkLimits | undefined {
  const limits = limitsFromWire(wire)
  if (limits === undefined) return undefined
  const { egressProfile } = limits
  if (egressProfile !== undefined && limits.egress !== undefined)
    throw fault('INVALID_REQUEST', 'network: egress and egress_profile are mutually exclusive')
  if (egressProfile !== undefined && !egressProfiles.includes(egressProfile))
    throw fault(
      'INVALID_REQUEST',
      `network.egress_profile: the server has no profile "${egressProfile}" (its egress.profiles: ${egressProfiles.join(', ') || 'none'})`,
    )
  if (!isIsolated)
    throw fault(
      'INVALID_REQUEST',
      "network: the server does not isolate that backend's network and cannot enforce limits; omit network, or choose another backend",
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

/**
 * Decodes limits that were validated when they were written.
 *
 * @throws INVALID_REQUEST when they are not valid
 */
export function limitsFromWire(wire: WireNetworkLimits | null | undefined): NetworkLimits | undefined {
  const { allow_host_ports: ports, egress, egress_profile: egressProfile } = wire ?? {}
  if (ports === undefined && egress === undefined && egressProfile === undefined) return undefined
  return {
    ...(ports !== undefined && { allowHostPorts: parsePorts(ports) }),
    ...(egress !== undefined && { egress: parseEgress(egress) }),
    ...(egressProfile !== undefined && { egressProfile }),
  }
}

/** Encodes limits. */
export function limitsToWire({ allowHostPorts, egress, egressProfile }: NetworkLimits): WireNetworkLimits {
  return {
    ...(allowHostPorts !== undefined && { allow_host_ports: [...allowHostPorts] }),
    ...(egress !== undefined && { egress: typeof egress === 'string' ? egress : [...egress] }),
    ...(egressProfile !== undefined && { egress_profile: egressProfile }),
  }
}

/** Returns a key for what limits allow, '' for none; the packets of equal limits can share a network. */
export function keyOfLimits(limits: NetworkLimits | undefined): string {
  if (limits === undefined) return ''
  const { egressProfile, ...direct } = limits
  return JSON.stringify(limitsToWire(egressProfile === undefined ? direct : { ...direct, egress: 'none' }))
}

/** Returns limits that have this key. */
export function limitsOfKey(key: string): NetworkLimits | undefined {
  return key === '' ? undefined : (limitsFromWire(JSON.parse(key) as WireNetworkLimits) ?? {})
}

/** Returns the effective policy: what both the server's current policy and the workspace's limits allow. */
export function narrowed(policy: NetworkPolicy, limits: NetworkLimits | undefined): NetworkPolicy {
  const { allowHostPorts, egressProfile } = limits ?? {}
  const egress = egressProfile === undefined ? limits?.egress : 'none'
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
    // The public part of a list is narrower than both.
    if (allowed === own || (own === 'internet' && typeof allowed !== 'string')) return
    throw widening(own, policy)
  }
  const refused = typeof allowed === 'string' ? own[0] : own.find((entry) => !allowed.includes(entry))
  if (refused !== undefined) throw widening(refused, policy)
}

function widening(entry: string, { egress }: NetworkPolicy) {
  return fault(
    'INVALID_REQUEST',
    `network.egress: "${entry}" exceeds what the server allows (its network.egress: ${typeof egress === 'string' ? egress : egress.join(', ')})`,
  )
}

function isWithin(list: readonly string[], entry: string): boolean {
  if (!isNetwork(entry)) return list.some((name) => name.toLowerCase() === entry.toLowerCase())
  return list.some((network) => isNetwork(network) && isPartOf(entry, network))
}

/**
 * Returns whether a network contains private addresses; those of a name are known only once it is resolved.
 */
function touchesPrivate(entry: string): boolean {
  return (
    isNetwork(entry) &&
    PRIVATE_NETWORKS.some((network) => isPartOf(entry, network) || isPartOf(network, entry))
  )
}
