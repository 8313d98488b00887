import type { ProcessTable } from '../process/process-table.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'

/** Target of a request. */
export interface ProxyTarget {
  readonly subdomain: string
  readonly process: SupervisedProcess
  readonly port: number
}

/** Finds processes by host name. */
export class ProxyRoutes {
  readonly #table: ProcessTable
  readonly #domains: readonly string[]
  #turn = 0

  constructor(table: ProcessTable, domains: readonly string[]) {
    this.#table = table
    this.#domains = domains
  }

  /** Lists all subdomains. */
  subdomains(): readonly string[] {
    return [...new Set(this.#targets().map(({ subdomain }) => subdomain))]
  }

  /**
   * Returns the subdomain in a Host header, exactly or as the suffix of a deeper one (`a.web.localhost` is `web`'s); undefined
   * if it is unknown (threat V5).
   */
  subdomainOf(host: string): string | undefined {
    const name = host
      .toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/\.$/, '')
    const known = new Set(this.subdomains())
    for (const domain of this.#domains) {
      if (!name.endsWith(`.${domain}`)) continue
      const labels = name.slice(0, -domain.length - 1).split('.')
      for (let from = 0; from < labels.length; from++) {
        const subdomain = labels.slice(from).join('.')
        if (known.has(subdomain)) return subdomain
      }
    }
    return undefined
  }

  /** Returns the process for the next request; replicas take turns, running ones first. */
  target(subdomain: string): ProxyTarget | undefined {
    const all = this.#targets().filter((target) => target.subdomain === subdomain)
    const running = all.filter(({ process }) => process.state.is === 'running')
    const choice = running.length > 0 ? running : all
    return choice[this.#turn++ % choice.length]
  }

  #targets(): readonly ProxyTarget[] {
    return this.#table.list().flatMap((process) => {
      const { proxy } = process.spec
      return proxy === undefined ? [] : [{ subdomain: proxy.subdomain, process, port: proxy.port }]
    })
  }
}
