import type { BackendName } from '../backend-name.ts'
import { narrowed, type NetworkLimits, type NetworkReach } from './narrow.ts'
import type { NetworkPolicy } from './policy.ts'

/** Returns the network policy of a backend's workspaces, or of one with limits. */
export function reachOf(
  backend: BackendName,
  {
    network,
    docker,
    vm,
    egress,
  }: {
    readonly network: NetworkPolicy
    readonly egress: { readonly profiles: ReadonlyMap<string, unknown> }
    readonly docker: { readonly network: string | undefined }
    readonly vm: { readonly network: string }
  },
  limits?: NetworkLimits,
): NetworkReach {
  // Another network's policy applies, or macOS's address translation. On macOS, engines run in a VM whose
  // gateway is this host.
  const isOpen =
    backend === 'docker'
      ? process.platform === 'darwin' || (docker.network !== undefined && docker.network !== 'none')
      : backend === 'vz' && vm.network === 'user'
  return {
    isIsolated: !isOpen,
    policy: narrowed(network, limits),
    egressProfiles: [...egress.profiles.keys()],
  }
}
