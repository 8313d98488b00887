import { createHash } from 'node:crypto'

export const NETWORK_MODES = ['auto', 'tap', 'user', 'none'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

/** How a machine is connected. Everything but `none` is an address that its agent sets. */
export type NetworkPlan =
  | { readonly is: 'none' }
  /** The monitor itself opens connections for the guest; nothing reaches in. */
  | { readonly is: 'user'; readonly mac: string }
  /** A network device of the host's, which the host and other machines reach it by. */
  | { readonly is: 'tap'; readonly mac: string; readonly device: string; readonly address: GuestAddress }

export interface GuestAddress {
  readonly address: string
  readonly prefixLength: number
  readonly gateway: string
  readonly nameServers: readonly string[]
}

/** The network that QEMU's user mode gives every guest: slirp's addresses, which are the same for all. */
export const USER_MODE_ADDRESS: GuestAddress = {
  address: '10.0.2.15',
  prefixLength: 24,
  gateway: '10.0.2.2',
  nameServers: ['10.0.2.3'],
}

/** A machine's hardware address: locally administered, and the same at each start. */
export function macOf(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, 5)
  return ['06', ...[...bytes].map((byte) => byte.toString(16).padStart(2, '0'))].join(':')
}
