/** The port of a workspace that a host name stands for. */
export interface PortTarget {
  readonly workspace: string
  readonly port: number
}

const LABEL = /^([1-9]\d{0,4})--([a-z0-9][a-z0-9-]*)$/
const MAX_LABEL_LENGTH = 63

/**
 * Host names of ports, `3000--demo.localhost`: each port an origin of its own in browsers, which keeps what a workspace serves
 * from the server's own page and from other workspaces. Browsers find `*.localhost` on this machine by themselves.
 */
export class PortHosts {
  readonly #domain: string | undefined

  /** `domain`: below which they are for browsers elsewhere; undefined where there is none. */
  constructor(domain: string | undefined) {
    this.#domain = domain?.toLowerCase()
  }

  /** What a `Host` header stands for; undefined for a host that is no port's. */
  parse(host = ''): PortTarget | undefined {
    // Asked of every request, and seldom the case.
    if (!host.includes('--')) return undefined
    const name = nameOf(host)
    for (const domain of ['localhost', this.#domain]) {
      if (domain === undefined || !name.endsWith(`.${domain}`)) continue
      const [, port = '', workspace = ''] = LABEL.exec(name.slice(0, -domain.length - 1)) ?? []
      if (workspace !== '' && Number(port) <= 65_535) return { workspace, port: Number(port) }
    }
    return undefined
  }

  /** The host of a port for somebody who reached the server by `host`; undefined where they would find none. */
  hostFor({ workspace, port }: PortTarget, host: string): string | undefined {
    const label = `${port}--${workspace.toLowerCase()}`
    const domain = isHere(nameOf(host)) ? 'localhost' : this.#domain
    if (domain === undefined || label.length > MAX_LABEL_LENGTH) return undefined
    return `${label}.${domain}${/:\d+$/.exec(host)?.[0] ?? ''}`
  }
}

/** Without its port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
}

/** Whether a browser that reached the server by this name is on the same machine, or tunnels to it. */
function isHere(name: string): boolean {
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(name)
  )
}
