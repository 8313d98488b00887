import { readFileSync } from 'node:fs'

const FILES = ['/run/systemd/resolve/resolv.conf', '/etc/resolv.conf'] as const

/** The DNS servers of this host, IPv4 alone. */
export interface Resolvers {
  /** Those that can be reached from elsewhere than the host's loopback interface. */
  readonly reachable: readonly string[]
  /** The first on the loopback interface, where there is no other. */
  readonly local: string | undefined
}

/** Reads them from resolv.conf(5), of which systemd-resolved keeps one with the servers behind it. */
export function readResolvers(files: readonly string[] = FILES): Resolvers {
  let local: string | undefined
  for (const file of files) {
    const servers = [...read(file).matchAll(/^\s*nameserver\s+([\d.]+)\s*$/gm)].map(
      ([, server = '']) => server,
    )
    const reachable = servers.filter((server) => !server.startsWith('127.'))
    if (reachable.length > 0) return { reachable, local: undefined }
    local ??= servers[0]
  }
  return { reachable: [], local }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
