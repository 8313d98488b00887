import { isHere, type PortTarget } from '../../../tunnel/port-host.ts'
import { ENVD_PORT, INTERPRETER_PORT } from '../../../api/e2b.ts'

/** Path of the interface for clients of E2B, to which their hosts are routed as well. */
export const E2B_PATH = '/e2b'

const API_LABEL = 'api'
const PORT_LABEL = /^([1-9]\d{0,4})-([a-z0-9][a-z0-9-]*)$/

/**
 * Host names that E2B's SDKs derive from a domain: `api.DOMAIN`, and `3000-SANDBOX.DOMAIN` for a port of a sandbox, of
 * which 49983 is the interface for commands and files, and 49999 that for code unless the sandbox listens there.
 */
export class E2bHosts {
  readonly #domains: readonly string[]

  /** @param domain parent domain for clients on other machines, if any */
  constructor(domain: string | undefined) {
    this.#domains = ['localhost', ...(domain === undefined ? [] : [domain.toLowerCase()])]
  }

  /** Returns the domain, with its port, that a request to its API was sent to; undefined for other hosts. */
  apiDomain(host = ''): string | undefined {
    return this.#split(host)?.label === API_LABEL ? host.slice(API_LABEL.length + 1) : undefined
  }

  /** Returns the domain for ports of sandboxes, for a client that reached the server as `host`, if it can resolve one. */
  domainFor(host = ''): string | undefined {
    const domain = isHere(host) ? 'localhost' : this.#domains[1]
    return domain === undefined ? undefined : domain + (/:\d+$/.exec(host)?.[0] ?? '')
  }

  /** Parses the host of a sandbox's port; undefined for other hosts. */
  parsePort(host = ''): PortTarget | undefined {
    const [, port = '', workspace = ''] = PORT_LABEL.exec(this.#split(host)?.label ?? '') ?? []
    return workspace === '' || Number(port) > 65_535 ? undefined : { workspace, port: Number(port) }
  }

  /** Whether all requests to the host are for the interface. */
  isInterface(host: string | undefined): boolean {
    return this.parsePort(host)?.port === ENVD_PORT || this.apiDomain(host) !== undefined
  }

  /** Returns the sandbox whose code interpreter the host denotes; undefined for other hosts. */
  interpreterOf(host: string | undefined): string | undefined {
    const target = this.parsePort(host)
    return target?.port === INTERPRETER_PORT ? target.workspace : undefined
  }

  /** Returns the path below which a request to the host is served; undefined for hosts of the server's own API. */
  prefixFor(host: string | undefined): string | undefined {
    return this.isInterface(host) || this.interpreterOf(host) !== undefined ? E2B_PATH : undefined
  }

  #split(host: string): { readonly label: string } | undefined {
    const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
    const domain = this.#domains.find((each) => name.endsWith(`.${each}`))
    return domain === undefined ? undefined : { label: name.slice(0, -domain.length - 1) }
  }
}
