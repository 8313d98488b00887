import type { Backend } from '../../../src/workspace/backend/backend.ts'
import type { Hit } from './canary.ts'

/** Ports of canaries: on every address, and only on the loopback interface. */
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
  /** Its router's MAC, the destination of forged frames. */
  readonly gatewayMac: string
}

/** A neighboring workspace with a canary inside. */
export interface Neighbor {
  readonly name: string
  readonly address: string
  readonly mac: string
  readonly hits: () => Promise<string>
}

export interface NetworkParts {
  readonly guest: Guest
  readonly neighbors: readonly Neighbor[]
  /** Other addresses of the host, by description. */
  readonly hostAddresses: Readonly<Record<string, string>>
  readonly servicePorts: Readonly<Record<string, number>>
  readonly hits: readonly Hit[]
}

/** An attempt: a line for the guest's tool, and additional checks besides the canaries. */
export interface Try {
  readonly key: string
  readonly tries: string
  readonly line: string
  /** Returns whether the guest's own result shows a response. */
  readonly isReachedBy?: RegExp
}
