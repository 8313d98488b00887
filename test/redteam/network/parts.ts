import type { Backend } from '../../../src/workspace/backend/backend.ts'
import type { Hit } from './canary.ts'

/** Where canaries listen: on every address, and on the loopback interface alone. */
export const PORT = 7_777
export const LOOPBACK_PORT = 7_778
/** Opened by `network.allow_host_ports` in this run. */
export const OPEN_PORT = 7_779

/** A workspace in which the attacker has root. */
export interface Guest {
  readonly kind: 'container' | 'vm-user' | 'vm-tap'
  readonly name: string
  readonly backend: Backend
  /** Its own address, and its router's. */
  readonly address: string
  readonly gateway: string
  readonly mac: string
  /** Its router's MAC, which forged frames go to. */
  readonly gatewayMac: string
}

/** A neighbor's workspace with a canary inside. */
export interface Neighbor {
  readonly name: string
  readonly address: string
  readonly mac: string
  readonly hits: () => Promise<string>
}

export interface NetworkParts {
  readonly guest: Guest
  readonly neighbors: readonly Neighbor[]
  /** Further addresses of the host's, by what they are. */
  readonly hostAddresses: Readonly<Record<string, string>>
  readonly servicePorts: Readonly<Record<string, number>>
  readonly hits: readonly Hit[]
}

/** Something to try: a line for the guest's tool, and what tells whether it arrived besides the canaries. */
export interface Try {
  readonly key: string
  readonly tries: string
  readonly line: string
  /** Whether the guest's own result shows that something answered. */
  readonly isReachedBy?: RegExp
}
