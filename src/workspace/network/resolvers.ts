import { readFileSync } from 'node:fs'

const FILES = ['/run/systemd/resolve/resolv.conf', '/etc/resolv.conf'] as const

/** The host's IPv4 DNS servers. */
export interface Resolvers {
  /** Servers that are reachable from outside the host's loopback interface. */
  readonly reachable: readonly string[]
  /** The first server on the loopback interface, when there is no other. */
  readonly local: string | undefined
}

/** Reads the DNS servers from resolv.conf(5); systemd-resolved maintains one with its upstream servers. */
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
