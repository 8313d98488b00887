import type { Backend, Load } from '../backend/backend.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import { type Clock, systemClock } from '../../lib/clock/clock.ts'
import { ignore } from '../../lib/errors/ignore.ts'

const EVERY_MS = 2_000
/** A sample is reused for callers within this time. */
const FRESH_MS = 1_000

/** Resource usage of a running workspace. */
export interface Usage {
  readonly name: string
  /** Percentage of one CPU, so that two busy ones are 200; undefined before the second sample. */
  readonly cpuPercent: number | undefined
  readonly memoryBytes: number
}

interface Sample {
  readonly atMs: number
  /** By container or VM id: a workspace of the same name may have been replaced. */
  readonly loads: ReadonlyMap<string, Load>
  readonly usages: readonly Usage[]
}

/**
 * Samples the usage of running workspaces once for all callers, and periodically only while somebody listens.
 */
export class UsageSampler {
  readonly #table: WorkspaceTable
  readonly #backends: ReadonlyMap<BackendName, Backend>
  readonly #clock: Clock
  readonly #listeners = new Set<(usages: readonly Usage[]) => void>()
  #last: Sample | undefined
  #sampling: Promise<Sample> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    table: WorkspaceTable,
    backends: ReadonlyMap<BackendName, Backend>,
    clock: Clock = systemClock,
  ) {
    this.#table = table
    this.#backends = backends
    this.#clock = clock
  }

  /** Returns the usage of all running workspaces that can be measured. */
  async read(): Promise<readonly Usage[]> {
    if (this.#last !== undefined && this.#clock.nowMs() - this.#last.atMs < FRESH_MS) return this.#last.usages
    // Concurrent callers share one sample.
    this.#sampling ??= this.#sample().finally(() => (this.#sampling = undefined))
    return (await this.#sampling).usages
  }

  /** Calls the listener every 2 s until the returned function is called. */
  listen(listener: (usages: readonly Usage[]) => void): () => void {
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => void this.#notify(), EVERY_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  async #notify(): Promise<void> {
    const usages = await this.read().catch(ignore('the next sample is taken in two seconds'))
    if (usages !== undefined) for (const listener of this.#listeners) listener(usages)
  }

  async #sample(): Promise<Sample> {
    const atMs = this.#clock.nowMs()
    const running = this.#table.list().filter((workspace) => workspace.state.is === 'running')
    const loads = new Map<string, Load>()
    await Promise.all(
      [...this.#backends.values()].map(async (backend) => {
        const own = running.filter((workspace) => workspace.backend === backend.name)
        const read = await backend
          .loads(own)
          .catch(ignore('usage that cannot be measured is left out', new Map<string, Load>()))
        for (const [id, load] of read) loads.set(id, load)
      }),
    )
    const usages = running.flatMap((workspace) => this.#usageOf(workspace, atMs, loads))
    this.#last = { atMs, loads, usages }
    return this.#last
  }

  #usageOf({ name, containerId }: Workspace, atMs: number, loads: ReadonlyMap<string, Load>): Usage[] {
    const load = loads.get(containerId)
    if (load === undefined) return []
    const { cpuMs, memoryBytes } = load
    const before = this.#last?.loads.get(containerId)
    // After a restart, CPU time starts at zero again.
    if (this.#last === undefined || before === undefined || cpuMs < before.cpuMs)
      return [{ name, cpuPercent: undefined, memoryBytes }]
    const cpuPercent = ((cpuMs - before.cpuMs) / (atMs - this.#last.atMs)) * 100
    return [{ name, cpuPercent, memoryBytes }]
  }
}
