import { stat } from 'node:fs/promises'
import type { Check } from '../check.ts'
import type { BackendName } from '../backend-name.ts'
import { firewallMissing } from './network-host.ts'
import { describePolicy, type NetworkPolicy } from './policy.ts'
import { reachOf } from './reach.ts'

/** Checks what workspaces can reach, and whether this machine can enforce the policy. */
export async function probeNetwork(config: {
  readonly enabledBackends: readonly BackendName[]
  readonly network: NetworkPolicy
  readonly docker: { readonly network: string | undefined }
  readonly vm: { readonly network: string }
  readonly egress: { readonly profiles: ReadonlyMap<string, unknown> }
}): Promise<readonly Check[]> {
  const policy: Check = {
    name: 'workspace network',
    ok: true,
    found: describePolicy(config.network),
    remedy: '',
  }
  const open = config.enabledBackends.filter((backend) => !reachOf(backend, config).isIsolated)
  const opened: readonly Check[] = open.map((backend) => ({
    name: `${backend} network`,
    ok: true,
    found: 'not isolated: its workspaces can reach this host and each other',
    remedy:
      backend === 'docker'
        ? 'remove docker.network, so that containers join an isolated network'
        : 'set vm.network to none',
  }))
  return [policy, ...opened, ...(await firewallCheck(config))]
}

async function firewallCheck({
  enabledBackends,
  docker,
}: {
  readonly enabledBackends: readonly BackendName[]
  readonly docker: { readonly network: string | undefined }
}): Promise<readonly Check[]> {
  const isNeeded = enabledBackends.includes('docker') && docker.network === undefined
  if (process.platform !== 'linux' || !isNeeded) return []
  const name = 'firewall'
  const isThere = await stat('/usr/sbin/nft').then(
    () => true,
    () => false,
  )
  const repair = isThere ? undefined : { package: 'nftables' }
  if (process.getuid?.() !== 0)
    return isThere
      ? [{ name, ok: true, found: 'nftables, through the engine', remedy: '' }]
      : [{ name, ok: false, found: 'nft is missing', remedy: 'install nftables', repair }]
  const missing = await firewallMissing()
  return [
    {
      name,
      ok: missing === undefined,
      found: missing === undefined ? 'nftables' : 'unavailable',
      remedy: missing ?? '',
      repair: missing === undefined ? undefined : repair,
    },
  ]
}
