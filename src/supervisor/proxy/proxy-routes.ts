import type { AlarmClock } from '../../lib/clock/clock.ts'
import { retryAtOf } from '../process/process-state.ts'
import type { ProcessTable } from '../process/process-table.ts'
import { ListeningRuns, type ProxyTarget } from './listening-runs.ts'

/** Time in which the exit of a run that refuses connections is noticed. */
const EXIT_NOTICE_MS = 1_000

/** Target of the next request. */
export interface Choice {
  readonly target: ProxyTarget
  /** Whether the request should wait, because the process is starting. */
  readonly isPending: boolean
}

interface RoutesParts {
  readonly table: ProcessTable
  readonly domains: readonly string[]
  /** Maximum time that a request waits for a process without its own limit. */
  readonly holdMs: number
  readonly clock: AlarmClock
  /** Called when other targets may be ready. */
  readonly onReady: () => void
}

/** Finds processes by host name. */
export class ProxyRoutes {
  readonly #parts: RoutesParts
  readonly #listening: ListeningRuns
  #turn = 0

  constructor(parts: RoutesParts) {
    this.#parts = parts
    this.#listening = new ListeningRuns(parts.clock, parts.onReady)
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
    for (const domain of this.#parts.domains) {
      if (!name.endsWith(`.${domain}`)) continue
      const labels = name.slice(0, -domain.length - 1).split('.')
      for (let from = 0; from < labels.length; from++) {
        const subdomain = labels.slice(from).join('.')
        if (known.has(subdomain)) return subdomain
      }
    }
    return undefined
  }

  /** Returns the process for the next request; replicas take turns: those that are ready, or else those that will be. */
  choose(subdomain: string): Choice | undefined {
    const all = this.#targets().filter((target) => target.subdomain === subdomain)
    for (const target of all) this.#watch(target)
    const ready = all.filter((target) => this.#isReady(target))
    const pending = ready.length > 0 ? [] : all.filter((target) => this.#isPending(target))
    const choice = [ready, pending, all].find(({ length }) => length > 0) ?? []
    const target = choice[this.#turn++ % choice.length]
    return target && { target, isPending: choice === pending }
  }

  /** Reports that a target refused a connection: it may have just exited. */
  refused(target: ProxyTarget): void {
    const { program } = target.process
    if (program === undefined || target.holdMs === 0) return
    this.#listening.forget(program)
    this.#listening.watch(target, Math.min(EXIT_NOTICE_MS, target.holdMs / 2))
  }

  #watch(target: ProxyTarget): void {
    const { process, holdMs } = target
    if (process.state.is === 'running' && holdMs > 0) this.#listening.watch(target, holdMs - process.uptimeMs)
  }

  #isReady({ process: { state }, holdMs }: ProxyTarget): boolean {
    return state.is === 'running' && (holdMs === 0 || this.#listening.isSettled(state.program))
  }

  /** Whether a process will be ready. One that exited by itself must have been before, or it may never be. */
  #isPending({ process: { state, lastProgram }, holdMs }: ProxyTarget): boolean {
    if (holdMs === 0) return false
    if (state.is === 'stopping') return state.next === 'start'
    // After its end, the next state decides.
    if (state.is !== 'stopped' && state.is !== 'crashed') return true
    return retryAtOf(state) !== undefined && this.#listening.hasAccepted(lastProgram)
  }

  #targets(): readonly ProxyTarget[] {
    return this.#parts.table.list().flatMap((process) => {
      const { proxy } = process.runSpec
      if (proxy === undefined) return []
      const { subdomain, port, holdMs = this.#parts.holdMs } = proxy
      return [{ subdomain, process, port, holdMs }]
    })
  }
}
