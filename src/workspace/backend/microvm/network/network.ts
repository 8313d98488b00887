import { createHash } from 'node:crypto'
import type { NetworkPolicy } from '../../../network/policy.ts'

/** Ways of connecting VMs. */
export const NETWORK_MODES = ['auto', 'tap', 'user', 'none'] as const
/** A way of connecting VMs. */
export type NetworkMode = (typeof NETWORK_MODES)[number]

/**
 * How a VM is connected. Its agent configures the addresses, except those that the monitor assigns by DHCP.
 */
export type NetworkPlan =
  | { readonly is: 'none' }
  /**
   * A program on this host opens connections on the guest's behalf, within its rules; it accepts no incoming
   * ones.
   */
  | {
      readonly is: 'user'
      readonly mac: string
      readonly address: GuestAddress | 'dhcp'
      readonly policy: NetworkPolicy
      /** Networks that a listed egress currently resolves to. */
      readonly allowed: readonly string[]
    }
  /** A host network device, over which the host can reach the VM. */
  | { readonly is: 'tap'; readonly mac: string; readonly device: string; readonly address: GuestAddress }

/** Address configuration of a guest. */
export interface GuestAddress {
  readonly address: string
  readonly prefixLength: number
  readonly gateway: string
  readonly nameServers: readonly string[]
}

/** Returns a VM's MAC address: locally administered, and the same at every start. */
export function macOf(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, 5)
  return ['06', ...[...bytes].map((byte) => byte.toString(16).padStart(2, '0'))].join(':')
}
