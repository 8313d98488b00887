import type { WorkspaceConfig } from '../config.ts'

/** Where guests hand out their credentials, and where they publish. */
const PORTS = [498, 499] as const

/** Who else can get the credentials of workspaces, as a sentence; undefined where nobody can (threat W8). */
export function exposureOf({
  http,
  ssh,
  cloud,
  tunnel,
  extensions,
}: Pick<WorkspaceConfig, 'http' | 'ssh' | 'cloud' | 'tunnel' | 'extensions'>): string | undefined {
  if (!cloud.isUsed || !extensions.enabled.includes('cloud-credentials')) return undefined
  if (PORTS.every((port) => tunnel.denyPorts.includes(port))) return undefined
  const open = [
    ...(http.socket === undefined && http.tokenFile === undefined && !isLoopback(http.host) ? ['http'] : []),
    ...(ssh.authorizedKeys === undefined && !isLoopback(ssh.host) ? ['ssh'] : []),
  ]
  if (open.length === 0) return undefined
  return (
    `whoever reaches ${open.map((face) => `${face}.host`).join(' or ')} gets the cloud credentials of every workspace: ` +
    'set tunnel.deny_ports to [498, 499], or http.token_file and ssh.authorized_keys'
  )
}

function isLoopback(host: string): boolean {
  return /^(?:127\.|::1$|localhost$)/.test(host)
}
