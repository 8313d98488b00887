/** The workspace port that a host name denotes. */
export interface PortTarget {
  readonly workspace: string
  readonly port: number
}

const LABEL = /^([1-9]\d{0,4})--([a-z0-9][a-z0-9-]*)$/
const MAX_LABEL_LENGTH = 63

/**
 * Host names of ports, such as `3000--demo.localhost`: each port is a separate origin in browsers, which
 * isolates what a workspace serves from the server's own page and from other workspaces. Browsers resolve
 * `*.localhost` to this machine.
 */
export class PortHosts {
  readonly #domain: string | undefined

  /** @param domain parent domain for browsers on other machines, if any */
  constructor(domain: string | undefined) {
    this.#domain = domain?.toLowerCase()
  }

  /** Parses a `Host` header; returns undefined when it does not denote a port. */
  parse(host = ''): PortTarget | undefined {
    // Runs for every request, and rarely matches.
    if (!host.includes('--')) return undefined
    const name = nameOf(host)
    for (const domain of ['localhost', this.#domain]) {
      if (domain === undefined || !name.endsWith(`.${domain}`)) continue
      const [, port = '', workspace = ''] = LABEL.exec(name.slice(0, -domain.length - 1)) ?? []
      if (workspace !== '' && Number(port) <= 65_535) return { workspace, port: Number(port) }
    }
    return undefined
  }

  /**
   * Returns the host of a port for a client that reached the server as `host`; undefined when it could not
   * resolve one.
   */
  hostFor({ workspace, port }: PortTarget, host: string): string | undefined {
    const label = `${port}--${workspace.toLowerCase()}`
    const domain = isHere(host) ? 'localhost' : this.#domain
    if (domain === undefined || label.length > MAX_LABEL_LENGTH) return undefined
    return `${label}.${domain}${/:\d+$/.exec(host)?.[0] ?? ''}`
  }
}

/** Strips the port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
}

/**
 * Returns whether a client that reached the server by this `Host` runs on the same machine, or through a
 * tunnel.
 */
export function isHere(host: string): boolean {
  const name = nameOf(host)
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(name)
  )
}
