import type { WorkspaceConfig } from '../config.ts'

/** Guest ports that serve credentials and accept bus messages. */
const PORTS = [498, 499] as const

/**
 * Returns a sentence naming who else can obtain workspace credentials, or undefined when nobody can (threat
 * W8).
 */
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
    `any client that can reach ${open.map((face) => `${face}.host`).join(' or ')} can obtain the cloud credentials of every workspace: ` +
    'set tunnel.deny_ports to [498, 499], or http.token_file and ssh.authorized_keys'
  )
}

function isLoopback(host: string): boolean {
  return /^(?:127\.|::1$|localhost$)/.test(host)
}
