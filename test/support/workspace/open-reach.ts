import type { NetworkReach } from '../../../src/workspace/network/reach.ts'

/** The default network policy: everything beyond the host, and nothing on it. */
export const OPEN_REACH: NetworkReach = { isIsolated: true, policy: { allowHostPorts: [], egress: 'open' } }
