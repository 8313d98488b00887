import type { NetworkReach } from '../../../src/workspace/network/reach.ts'

/** Everything beyond the host, and nothing on it: what workspaces reach by default. */
export const OPEN_REACH: NetworkReach = { isIsolated: true, policy: { allowHostPorts: [], egress: 'open' } }
