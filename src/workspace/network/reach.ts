import type { BackendName } from '../backend-name.ts'
import { narrowed, type NetworkLimits } from './narrow.ts'
import type { NetworkPolicy } from './policy.ts'

/** What the workspaces of one backend reach. */
export interface NetworkReach {
  /** Whether this server keeps them from the host and from each other. */
  readonly isIsolated: boolean
  readonly policy: NetworkPolicy
}

/** Returns what a backend's workspaces reach by the configuration, or one that has limits. */
export function reachOf(
  backend: BackendName,
  {
    network,
    docker,
    vm,
  }: {
    readonly network: NetworkPolicy
    readonly docker: { readonly network: string | undefined }
    readonly vm: { readonly network: string }
  },
  limits?: NetworkLimits,
): NetworkReach {
  // A network of somebody else's, or macOS's own address translation.
  // macOS's engines run in a machine of their own, whose gateway is this host.
  const isOpen =
    backend === 'docker'
      ? process.platform === 'darwin' || (docker.network !== undefined && docker.network !== 'none')
      : backend === 'vz' && vm.network === 'user'
  return { isIsolated: !isOpen, policy: narrowed(network, limits) }
}
