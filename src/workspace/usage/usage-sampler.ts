import type { Backend, Load } from '../backend/backend.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import type { Workspace } from '../workspace.ts'
import type { BackendName } from '../backend-name.ts'
import { type Clock, systemClock } from '../../lib/clock/clock.ts'

const EVERY_MS = 2_000
/** One who asks in between is told what was just read. */
const FRESH_MS = 1_000

/** What a running workspace uses. */
export interface Usage {
  readonly name: string
  /** Of one CPU, so that two busy ones are 200; undefined until it has been looked at twice. */
  readonly cpuPercent: number | undefined
  readonly memoryBytes: number
}

interface Sample {
  readonly atMs: number
  /** By container or machine: a workspace of the same name may be another one by now. */
  readonly loads: ReadonlyMap<string, Load>
  readonly usages: readonly Usage[]
}

/** Reads what running workspaces use, once for all who ask, and on its own only while somebody listens. */
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

  /** Running workspaces of which it can be told. */
  async read(): Promise<readonly Usage[]> {
    if (this.#last !== undefined && this.#clock.nowMs() - this.#last.atMs < FRESH_MS) return this.#last.usages
    // Those who ask meanwhile wait for the same.
    this.#sampling ??= this.#sample().finally(() => (this.#sampling = undefined))
    return (await this.#sampling).usages
  }

  /** Tells every 2 s, until what it answers is called. */
  listen(listener: (usages: readonly Usage[]) => void): () => void {
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => void this.#tell(), EVERY_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  async #tell(): Promise<void> {
    const usages = await this.read().catch(() => undefined)
    if (usages !== undefined) for (const listener of this.#listeners) listener(usages)
  }

  async #sample(): Promise<Sample> {
    const atMs = this.#clock.nowMs()
    const running = this.#table.list().filter((workspace) => workspace.state.is === 'running')
    const loads = new Map<string, Load>()
    await Promise.all(
      [...this.#backends.values()].map(async (backend) => {
        const own = running.filter((workspace) => workspace.backend === backend.name)
        const read = await backend.loads(own).catch(() => new Map<string, Load>())
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
    // One that was started anew begins to count anew.
    if (this.#last === undefined || before === undefined || cpuMs < before.cpuMs)
      return [{ name, cpuPercent: undefined, memoryBytes }]
    const cpuPercent = ((cpuMs - before.cpuMs) / (atMs - this.#last.atMs)) * 100
    return [{ name, cpuPercent, memoryBytes }]
  }
}
