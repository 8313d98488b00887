import { createHash } from 'node:crypto'
import type { NetworkPolicy } from '../../../network/policy.ts'

export const NETWORK_MODES = ['auto', 'tap', 'user', 'none'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

/** How a machine is connected. Addresses are set by its agent, but for those that it gets from the monitor by DHCP. */
export type NetworkPlan =
  | { readonly is: 'none' }
  /** A program of this host opens connections for the guest, as far as its rules allow; nothing reaches in. */
  | {
      readonly is: 'user'
      readonly mac: string
      readonly address: GuestAddress | 'dhcp'
      readonly policy: NetworkPolicy
      /** Networks that a listed egress stands for now. */
      readonly allowed: readonly string[]
    }
  /** A network device of the host's, which the host and other machines reach it by. */
  | { readonly is: 'tap'; readonly mac: string; readonly device: string; readonly address: GuestAddress }

export interface GuestAddress {
  readonly address: string
  readonly prefixLength: number
  readonly gateway: string
  readonly nameServers: readonly string[]
}

/** A machine's hardware address: locally administered, and the same at each start. */
export function macOf(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, 5)
  return ['06', ...[...bytes].map((byte) => byte.toString(16).padStart(2, '0'))].join(':')
}
