import type { Backend } from '../../../src/workspace/backend/backend.ts'
import type { Attack } from '../attack.ts'
import type { Hit } from './canary.ts'

/** Ports of canaries: on every address, and only on the loopback interface. */
export const PORT = 7_777
export const LOOPBACK_PORT = 7_778
/** Opened by `network.allow_host_ports` in this run. */
export const OPEN_PORT = 7_779

/** Kinds of workspaces in which the attacker has root. */
export const KINDS = ['container', 'vm-user', 'vm-tap'] as const

/** The attacker's place in its network. */
export interface Place {
  readonly kind: (typeof KINDS)[number]
  /** Its own address, and its router's. */
  readonly address: string
  readonly gateway: string
  readonly mac: string
  /** Its router's MAC, the destination of forged frames. */
  readonly gatewayMac: string
  /** Its device on the host's bridge. */
  readonly device?: string
}

/** A workspace in which the attacker has root. */
export interface Guest extends Place {
  readonly name: string
  readonly backend: Backend
}

/** A neighboring workspace. */
interface Neighbor {
  readonly name: string
  readonly address: string
  readonly mac: string
}

/** Everything that attacks from a guest name. */
export interface Surroundings {
  readonly guest: Place
  readonly neighbors: readonly Neighbor[]
  /** Other addresses of the host, by description. */
  readonly hostAddresses: Readonly<Record<string, string>>
  readonly servicePorts: Readonly<Record<string, number>>
}

export interface NetworkParts extends Surroundings {
  readonly guest: Guest
  /** A neighbor has a canary inside. */
  readonly neighbors: readonly (Neighbor & { readonly hits: () => Promise<string> })[]
  readonly hits: readonly Hit[]
}

/** An attempt: a line for the guest's tool, and additional checks besides the canaries. */
export interface Try extends Attack {
  readonly line: string
  /** Returns whether the guest's own result shows a response. */
  readonly isReachedBy?: RegExp
}
