import { KeyedLock } from '../../lib/process/keyed-lock.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'
import { dependenciesFirst, dependentsFirst, dependsOn } from './dependency-order.ts'
import { groupsOf, missingGroup } from './groups.ts'
import type { Condition, ProcessSpec } from '../process-spec.ts'
import { describeExit, exitStatusOf, type ProcessState, retryAtOf } from './process-state.ts'
import { type ProcessDeps, SupervisedProcess } from './supervised-process.ts'

const ENDING = 'the supervisor is stopping'

/** Changes made by a reload. */
export interface ReloadResult {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly unchanged: number
}

/** The end of all processes because of one. */
export interface Abort {
  /** Exit status for the supervisor. */
  readonly status: number
  readonly cause: string
}

/** A process that another one depends on. */
export interface Dependency {
  readonly process: SupervisedProcess
  readonly condition: Condition
  readonly isMet: boolean
}

type TableDeps = Omit<ProcessDeps, 'blockedBy'> & {
  /** Called for a new process or changed settings. */
  readonly onOpen: (spec: ProcessSpec) => void
  /** Called for a removed process. */
  readonly onRemove: (name: string) => void
}

/** All processes and their dependencies. */
export class ProcessTable {
  readonly #deps: TableDeps
  readonly #processes = new Map<string, SupervisedProcess>()
  /** Serializes reloads, because each must see the processes that the previous one added. */
  readonly #reloads = new KeyedLock()
  /** Nothing more is started, not even by a reload in progress. */
  #isEnding = false

  constructor(specs: readonly ProcessSpec[], deps: TableDeps) {
    this.#deps = deps
    for (const spec of specs) this.#add(spec)
  }

  list(): readonly SupervisedProcess[] {
    return [...this.#processes.values()]
  }

  find(name: string): SupervisedProcess | undefined {
    return this.#processes.get(name)
  }

  /** Returns a process. @throws PROCESS_NOT_FOUND when there is none with this name */
  get(name: string): SupervisedProcess {
    const process = this.#processes.get(name)
    if (process === undefined) throw fault('PROCESS_NOT_FOUND', `process "${name}" does not exist`)
    return process
  }

  /** Returns the processes that a process depends on, each replica separately. */
  dependenciesOf({ dependsOn: conditions }: ProcessSpec): readonly Dependency[] {
    return Object.entries(conditions).flatMap(([base, condition]) =>
      this.#replicas(base).map((process) => ({ process, condition, isMet: this.#isMet(process, condition) })),
    )
  }

  /** Starts a process and, before it, its dependencies. */
  start(name: string, reason?: string): void {
    const process = this.get(name)
    if (this.#isEnding) throw fault('SHUTDOWN_IN_PROGRESS', 'the supervisor is shutting down')
    this.#startNeeded(process.spec, new Set([process.spec.base]))
    process.start(reason)
  }

  /** Stops a process and starts it. @param reason of the stop and the start, if not a request */
  async restart(name: string, reason?: string): Promise<void> {
    const process = this.get(name)
    this.#startNeeded(process.spec, new Set([process.spec.base]))
    await process.restart(reason, reason)
  }

  /** Returns the processes of a group. @throws GROUP_NOT_FOUND when no process is in it */
  group(name: string): readonly SupervisedProcess[] {
    const all = this.list()
    const members = all.filter(({ spec }) => spec.groups.includes(name))
    if (members.length === 0)
      throw fault('GROUP_NOT_FOUND', missingGroup(name, groupsOf(all.map(({ spec }) => spec))))
    return members
  }

  /**
   * Starts the processes of a group that are down and, before each, its dependencies.
   *
   * @throws PROCESS_START_FAILED when some cannot be started; the others are
   */
  async startGroup(name: string): Promise<readonly SupervisedProcess[]> {
    const members = dependenciesFirst(this.group(name))
    await this.#startEach(name, members, async (process) => {
      if (process.isDown) this.start(process.spec.name)
    })
    return members
  }

  /** Stops the processes of a group, dependents first. Resolves when nothing of them is left. */
  async stopGroup(name: string): Promise<readonly SupervisedProcess[]> {
    const members = this.group(name)
    await this.#endEach(members)
    return members
  }

  /**
   * Stops the processes of a group, dependents first, and starts them; those with `startFirst` then start their next run before
   * they stop.
   *
   * @throws PROCESS_START_FAILED when some cannot be started; the others are
   */
  async restartGroup(name: string): Promise<readonly SupervisedProcess[]> {
    const members = dependenciesFirst(this.group(name))
    const overlapping = members.filter(
      ({ spec, state }) => spec.startFirst !== undefined && state.is === 'running',
    )
    const others = members.filter((process) => !overlapping.includes(process))
    await this.#endEach(others)
    await this.#startEach(name, [...others, ...overlapping], (process) => this.restart(process.spec.name))
    return members
  }

  /** Stops processes in the order of all dependencies, also of those through processes that continue. */
  async #endEach(processes: readonly SupervisedProcess[]): Promise<void> {
    await dependentsFirst(this.list(), async (process) => {
      if (processes.includes(process)) await endFor(process, 'requested')
    })
  }

  async #startEach(
    group: string,
    processes: readonly SupervisedProcess[],
    start: (process: SupervisedProcess) => Promise<void>,
  ): Promise<void> {
    if (this.#isEnding) throw fault('SHUTDOWN_IN_PROGRESS', 'the supervisor is shutting down')
    const results = await Promise.allSettled(processes.map(start))
    const failures = results.flatMap((result, at) =>
      result.status === 'rejected' ? [`${processes[at]?.spec.name}: ${messageOf(result.reason)}`] : [],
    )
    if (failures.length > 0)
      throw fault(
        'PROCESS_START_FAILED',
        `${failures.length} of ${processes.length} processes of group "${group}" could not be started: ${failures.join('; ')}`,
      )
  }

  /** Starts all processes with `autostart`, and their dependencies. */
  startAll(): void {
    for (const process of this.list()) if (process.spec.autostart) this.#startUp(process)
  }

  /**
   * Stops all processes, dependents before their dependencies, for a reason that their states show. Resolves when
   * nothing is left; after `limitMs` the rest is killed.
   */
  async stopAll(limitMs: number, reason = ENDING): Promise<void> {
    this.#isEnding = true
    const all = this.list()
    const cancel = this.#deps.clock.after(limitMs, () => all.forEach((process) => process.kill()))
    // Waiting processes must not start if their condition becomes true now.
    for (const process of all) if (process.state.is === 'waiting') void process.end(reason)
    await dependentsFirst(all, (process) => process.end(reason))
    cancel()
  }

  /** Whether no process is running or will start by itself. */
  isOver(): boolean {
    return this.list().every((process) => this.#isOver(process))
  }

  /** Returns how a process stops all others; undefined if none does. */
  abort(): Abort | undefined {
    for (const process of this.list()) {
      const abort = this.#abortOf(process)
      if (abort !== undefined) return abort
    }
    return undefined
  }

  #abortOf(process: SupervisedProcess): Abort | undefined {
    const { state, spec } = process
    const { name, abortOn } = spec
    if (abortOn.length === 0 || !this.#isOver(process)) return undefined
    if (state.is === 'waiting')
      return abortOn.includes('skipped')
        ? { status: 1, cause: `"${name}" cannot start, because it ${state.for}` }
        : undefined
    if (!('exit' in state) || state.exit === undefined) return undefined
    if (!abortOn.includes(state.is === 'crashed' ? 'failure' : 'success')) return undefined
    const { exit } = state
    return {
      status: exitStatusOf(exit),
      cause: exit.failure ?? `"${name}" exited with ${describeExit(exit)}`,
    }
  }

  /** Replaces the processes by those in the list without touching unchanged ones. Resolves when removed processes have stopped. */
  reload(specs: readonly ProcessSpec[]): Promise<ReloadResult> {
    return this.#reloads.run('', () => this.#reload(specs))
  }

  async #reload(specs: readonly ProcessSpec[]): Promise<ReloadResult> {
    const wanted = new Map(specs.map((spec) => [spec.name, spec]))
    const removed = this.list().filter(({ spec }) => !wanted.has(spec.name))
    const changed = this.list().filter(({ spec }) => {
      const next = wanted.get(spec.name)
      return next !== undefined && JSON.stringify(next) !== JSON.stringify(spec)
    })
    const added = specs.filter(({ name }) => !this.#processes.has(name))
    await Promise.all(
      removed.map(async (process) => {
        await endFor(process, 'removed from the configuration')
        this.#processes.delete(process.spec.name)
        this.#deps.onRemove(process.spec.name)
      }),
    )
    for (const spec of added) this.#add(spec)
    await Promise.all(
      changed.map((process) => this.#change(process, wanted.get(process.spec.name) ?? process.spec)),
    )
    for (const { name, autostart } of added) {
      const process = this.#processes.get(name)
      if (autostart && process !== undefined) this.#startUp(process)
    }
    return {
      added: added.map(({ name }) => name),
      removed: removed.map(({ spec }) => spec.name),
      changed: changed.map(({ spec }) => spec.name),
      unchanged: specs.length - added.length - changed.length,
    }
  }

  async #change(process: SupervisedProcess, spec: ProcessSpec): Promise<void> {
    if (spec.startFirst !== undefined && process.state.is === 'running') {
      process.change(spec)
      this.#deps.onOpen(spec)
      return process
        .restart('changed in the configuration')
        .catch(ignore('the history of the process has the reason'))
    }
    const wasUp = !process.isDown || retryAtOf(process.state) !== undefined
    await endFor(process, 'changed in the configuration')
    const isNew = spec.autostart && !process.spec.autostart
    process.change(spec)
    this.#deps.onOpen(spec)
    if (wasUp || isNew || (process.state.is === 'crashed' && spec.autostart)) this.#startUp(process)
  }

  #add(spec: ProcessSpec): void {
    this.#deps.onOpen(spec)
    const process = new SupervisedProcess(spec, {
      ...this.#deps,
      blockedBy: (of) => (this.#isEnding ? ENDING : this.#blockedBy(of)),
      onChange: (changed) => {
        this.#deps.onChange(changed)
        this.#retryWaiting(changed.spec)
      },
    })
    this.#processes.set(spec.name, process)
  }

  /** Starts a process if it is down; its state records a failure. */
  #startUp(process: SupervisedProcess): void {
    if (this.#isEnding) return
    this.#startNeeded(process.spec, new Set([process.spec.base]))
    if (!process.isDown) return
    try {
      process.start('started by the supervisor')
    } catch {
      // Its state has the reason.
    }
  }

  #startNeeded(spec: ProcessSpec, seen: Set<string>): void {
    for (const [base, condition] of Object.entries(spec.dependsOn)) {
      if (seen.has(base)) continue
      seen.add(base)
      for (const needed of this.#replicas(base)) {
        const isTried =
          needed.state.is === 'crashed' ||
          retryAtOf(needed.state) !== undefined ||
          isTrue(condition, needed.state)
        if (!needed.isDown || isTried || this.#isScheduled(needed)) continue
        this.#startUp(needed)
      }
    }
  }

  /** Whether a process has a schedule; dependents do not start it. */
  #isScheduled({ spec }: SupervisedProcess): boolean {
    return spec.schedule !== undefined
  }

  #blockedBy(spec: ProcessSpec): string | undefined {
    for (const [base, condition] of Object.entries(spec.dependsOn)) {
      const unmet = this.#unmet(base, condition)
      if (unmet === undefined) continue
      const { spec: needed, state } = unmet
      const hint = state.is === 'crashed' && state.retryAtMs === undefined ? ', which has crashed' : ''
      return `waits for "${needed.name}" to be ${condition}${hint}`
    }
    return undefined
  }

  /** Returns the first replica that does not meet a condition. */
  #unmet(base: string, condition: Condition): SupervisedProcess | undefined {
    return this.#replicas(base).find((needed) => !this.#isMet(needed, condition))
  }

  #isMet(needed: SupervisedProcess, condition: Condition): boolean {
    return (
      isTrue(condition, needed.state, needed.health.health) ||
      (condition === 'ended' && needed.state.is === 'waiting' && this.#isOver(needed))
    )
  }

  /** Whether a process is neither running nor going to start by itself. */
  #isOver({ spec, state, isDown }: SupervisedProcess): boolean {
    if (spec.schedule !== undefined) return false
    if (state.is !== 'waiting') return isDown && retryAtOf(state) === undefined
    const unmet = Object.entries(spec.dependsOn).map(([base, condition]) => this.#unmet(base, condition))
    return unmet.some((needed) => needed !== undefined && this.#isOver(needed))
  }

  #replicas(base: string): readonly SupervisedProcess[] {
    return this.list().filter(({ spec }) => spec.base === base)
  }

  #retryWaiting(changed: ProcessSpec): void {
    for (const process of this.#processes.values()) {
      if (process.state.is === 'waiting' && dependsOn(process.spec, changed)) process.retryWaiting()
    }
  }
}

/** Stops a process, again if it is restarted concurrently. When this returns, it is down. */
async function endFor(process: SupervisedProcess, reason: string): Promise<void> {
  do await process.end(reason)
  while (!process.isDown || retryAtOf(process.state) !== undefined)
}

function isTrue(condition: Condition, state: ProcessState, health = 'unknown'): boolean {
  if (condition === 'healthy') return state.is === 'running' && health === 'healthy'
  if (condition === 'completed') return isCompleted(state)
  if (condition === 'ended')
    return isCompleted(state) || (state.is === 'crashed' && state.retryAtMs === undefined)
  return state.is === 'starting' || state.is === 'running' || isCompleted(state)
}

function isCompleted(state: ProcessState): boolean {
  // A manual stop has no exit and does not complete the process.
  return state.is === 'stopped' && state.exit !== undefined && state.retryAtMs === undefined
}
