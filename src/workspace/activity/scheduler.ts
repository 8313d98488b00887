import { availableParallelism } from 'node:os'
import { Admission } from '../../lib/clock/admission.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Lifecycle } from '../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import {
  type EffectiveSchedule,
  effectiveSchedule,
  type RestKind,
  type Schedule,
  serverTimeZone,
} from '../schedule.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Workspace } from '../workspace.ts'
import { ScheduleRecord, type ScheduleState } from './schedule-record.ts'
import { type ScheduledEvent, ScheduleWatch } from './schedule-watch.ts'
import { takeCheckpoint, type TakeCheckpointOptions } from './take-checkpoint.ts'
import { attachmentOf, useOf, type UseSources } from './workspace-use.ts'

/** How late a start may be; a later one was missed. */
const LATEST_START_MS = 10 * 60_000
/** How long nobody must have used a workspace that its schedule stops: longer than a connection takes to return. */
const QUIET_MS = 5 * 60_000
/** How long a stop waits for users at most. */
const LONGEST_WAIT_MS = 2 * 3_600_000
/** Longest time between checks, after which a clock that was set is noticed. */
const LONGEST_PAUSE_MS = 60_000
/** Time between checks while a stop waits. */
const WAITING_PAUSE_MS = 15_000
/** Time after a failed stop. */
const RETRY_MS = 5 * 60_000

/** Dependencies of a Scheduler. */
export interface SchedulerOptions extends UseSources, TakeCheckpointOptions {
  /** Values of workspaces without their own. */
  readonly defaults: Schedule
  readonly table: WorkspaceTable
  readonly lifecycle: Pick<Lifecycle, 'startIf' | 'restIf'>
  readonly timeline: Timeline
  readonly clock: AlarmClock
  /** File that keeps the state over a restart. */
  readonly file: string
}

/** A stop whose time has come. */
interface WaitingStop {
  readonly dueMs: number
  /** Monotonic time at which it happens even if somebody uses the workspace. */
  readonly latestMs: number
  /** Monotonic time before which a failed one is not tried again. */
  retryMs: number
  isNoted: boolean
  isTrying: boolean
}

/** A workspace that has been seen, and the schedule that it is followed by, if any. */
interface Followed {
  /** Identifies the workspace and its schedule. */
  readonly id: string
  readonly watch: ScheduleWatch | undefined
  /** The last start whose time has come. */
  startMs: number
  stop: WaitingStop | undefined
}

/**
 * Starts and stops workspaces by their schedules. One timer serves all of them; after each check it is set to the next event.
 * A stop waits until nobody has used the workspace for five minutes, for two hours at most. A workspace that somebody starts
 * outside its hours runs until its next stop.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #record: ScheduleRecord
  readonly #followed = new Map<string, Followed>()
  readonly #starts = new Admission(Math.max(2, availableParallelism()))
  readonly #actions = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #defaults: string
  /** The state that an earlier server left. */
  #before: ScheduleState | undefined
  #isUnwritten = false
  /** Whether a check follows at once; also until the first one. */
  #isCheckNear = true
  #cancel: (() => void) | undefined

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#record = new ScheduleRecord(options.file, options.logger)
    const { defaults } = options
    this.#defaults = JSON.stringify([defaults, defaults.timeZone ?? serverTimeZone()])
  }

  /** Follows all schedules from where an earlier server left them. */
  async start(): Promise<void> {
    const { table } = this.#options
    const before = await this.#record.read()
    // A changed configuration has no past.
    this.#before = before?.defaults === this.#defaults ? before : undefined
    this.#isUnwritten = before !== undefined && this.#before === undefined
    for (const workspace of table.list()) this.#follow(workspace)
    table.onChange((change) => {
      if (this.#closing.signal.aborted) return
      if (change.type === 'deleted') this.#followed.delete(nameKey(change.name))
      else this.#follow(change.workspace)
    })
    await this.check()
  }

  /** Cancels the timer and starts that wait for others. Those in progress belong to the lifecycle. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the server is stopping'))
    this.#cancel?.()
    if (this.#isUnwritten) await this.#write()
    await this.#record.written()
  }

  /** Handles all events until now. Does not wait for the starts and stops that it begins. */
  async check(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { table, clock } = this.#options
    for (const workspace of table.list()) {
      const followed = this.#followed.get(nameKey(workspace.name))
      const event = followed?.watch?.check(clock.wallMs())
      if (followed === undefined) continue
      if (event !== undefined) this.#handle(workspace, followed, event)
      if (followed.stop !== undefined) this.#begin(this.#tryStop(workspace, followed, followed.stop))
    }
    this.#setTimer()
    if (this.#isUnwritten) await this.#write()
  }

  /** Resolves when the starts and stops in progress have ended, and the state is written. */
  async ended(): Promise<void> {
    await Promise.all(this.#actions)
    await this.#record.written()
  }

  #handle(workspace: Workspace, followed: Followed, { is, atMs }: ScheduledEvent): void {
    const { clock } = this.#options
    this.#isUnwritten = true
    followed.stop = undefined
    if (is === 'start') {
      followed.startMs = atMs
      this.#begin(this.#start(workspace, followed, atMs))
    } else if (isUp(workspace)) followed.stop = waitingStop(atMs, clock.nowMs())
  }

  async #start(workspace: Workspace, followed: Followed, atMs: number): Promise<void> {
    const { lifecycle, logger, timeline, clock } = this.#options
    const { name } = workspace
    if (isUp(workspace)) return
    const lateMs = clock.wallMs() - atMs
    if (lateMs > LATEST_START_MS) {
      const why = 'the server did not run then, or its clock was set'
      return timeline.note(name, `its schedule did not start it at ${timeOf(atMs)}: ${why}`)
    }
    let isStarted = false
    const isWanted = (now: Workspace): boolean => {
      const isCurrent = this.#isCurrent(now, followed) && followed.startMs === atMs
      isStarted = isCurrent && followed.stop === undefined && now.state.is !== 'running'
      return isStarted
    }
    try {
      await this.#starts.run(
        this.#closing.signal,
        () => undefined,
        () => lifecycle.startIf(name, reasonOf(followed, 'start', 'started'), isWanted),
      )
      if (!isStarted) return
      logger.info({ workspace: name }, 'started a workspace by its schedule')
      this.#audit('start', name)
    } catch (error) {
      if (this.#closing.signal.aborted) return
      logger.warn({ workspace: name, err: error }, 'could not start a workspace by its schedule')
      timeline.note(name, `its schedule could not start it: ${messageOf(error)}`)
      this.#audit('start', name, error)
    }
  }

  async #tryStop(workspace: Workspace, followed: Followed, stop: WaitingStop): Promise<void> {
    const { clock, timeline, logger } = this.#options
    const { name } = workspace
    if (workspace.state.is !== 'running' || stop.isTrying || clock.nowMs() < stop.retryMs) return
    stop.isTrying = true
    try {
      if (await this.#waits(workspace, stop)) return
      await this.#stop(workspace, followed, stop)
    } catch (error) {
      logger.warn({ workspace: name, err: error }, 'could not stop a workspace by its schedule')
      timeline.note(name, `its schedule could not stop it: ${messageOf(error)}`)
      if (clock.nowMs() >= stop.latestMs) this.#forget(followed, stop)
      stop.retryMs = Math.min(clock.nowMs() + RETRY_MS, stop.latestMs)
    } finally {
      stop.isTrying = false
    }
  }

  /** Returns whether a stop waits because somebody uses the workspace, which its timeline then shows once. */
  async #waits(workspace: Workspace, stop: WaitingStop): Promise<boolean> {
    const { clock, activity, timeline } = this.#options
    const { name } = workspace
    const leftMs = stop.latestMs - clock.nowMs()
    if (leftMs <= 0) return false
    let use = useOf(this.#options, name)
    if (use === undefined) {
      if (activity.idleMs(name) < QUIET_MS) return true
      // Checked last, because it runs a program inside.
      use = await attachmentOf(this.#options, workspace)
      if (use === undefined) return false
      activity.touch(name)
    }
    const latest = timeOf(clock.wallMs() + leftMs)
    if (!stop.isNoted)
      timeline.note(
        name,
        `its schedule stops it, but it is in use (${use}); it waits, until ${latest} at most`,
      )
    stop.isNoted = true
    return true
  }

  async #stop(workspace: Workspace, followed: Followed, stop: WaitingStop): Promise<void> {
    const { clock, lifecycle, logger } = this.#options
    const { name } = workspace
    const isWanted = (now: Workspace): boolean =>
      this.#isCurrent(now, followed) &&
      followed.stop === stop &&
      (clock.nowMs() >= stop.latestMs || useOf(this.#options, name) === undefined)
    const rest = (how: RestKind): Promise<boolean> => {
      const done = how === 'stop' ? 'stopped' : 'suspended'
      return lifecycle.restIf(name, how, reasonOf(followed, 'stop', done), isWanted)
    }
    let how = followed.watch?.schedule.rest ?? 'stop'
    let isDone = false
    try {
      isDone = await rest(how)
    } catch (error) {
      if (!isFault(error) || error.code !== 'SUSPEND_UNSUPPORTED') throw error
      how = 'stop'
      isDone = await rest(how)
    }
    if (!isDone) return
    this.#forget(followed, stop)
    logger.info(
      { workspace: name },
      `${how === 'stop' ? 'stopped' : 'suspended'} a workspace by its schedule`,
    )
    this.#audit(how, name)
    await takeCheckpoint(this.#options, name, 'schedule')
  }

  #audit(what: 'start' | RestKind, name: string, error?: unknown): void {
    const action = `workspace.${what}` as const
    const subject = { action, workspace: name, address: '', reason: 'schedule' } as const
    const code = isFault(error) ? { code: error.code } : {}
    this.#options.audit.record(
      subject,
      error === undefined ? { outcome: 'ok' } : { outcome: 'failed', ...code },
    )
  }

  /** Follows the schedule of a workspace as it is now. Only one that has not changed has a past. */
  #follow(workspace: Workspace): void {
    const { clock } = this.#options
    const key = nameKey(workspace.name)
    const known = this.#followed.get(key)
    const schedule = effectiveSchedule(workspace, this.#options.defaults)
    const id = idOf(workspace, schedule)
    if (known?.id === id) {
      if (known.stop !== undefined && !isUp(workspace)) this.#forget(known, known.stop)
      return
    }
    const earliestMs = Math.min(workspace.createdAt.getTime(), clock.wallMs())
    const fromMs =
      known === undefined && this.#before !== undefined
        ? Math.max(earliestMs, this.#before.handledMs)
        : clock.wallMs()
    const watch = this.#watchFrom(workspace, schedule, fromMs)
    const stop = known === undefined && watch !== undefined ? this.#waitingBefore(workspace) : undefined
    this.#followed.set(key, { id, watch, startMs: 0, stop })
    if (known === undefined && watch === undefined) return
    // Other workspaces may have events until now, which a written state must not lose.
    this.#checkSoon()
  }

  #watchFrom(
    { name }: Workspace,
    schedule: EffectiveSchedule | undefined,
    fromMs: number,
  ): ScheduleWatch | undefined {
    try {
      return schedule && new ScheduleWatch(schedule, fromMs)
    } catch (error) {
      // Accepted by an earlier Node.js, whose time zones were others.
      this.#options.logger.warn({ workspace: name, err: error }, 'the schedule of a workspace cannot be used')
      return undefined
    }
  }

  /** Returns a stop that waited when an earlier server stopped, for which it now waits again. */
  #waitingBefore(workspace: Workspace): WaitingStop | undefined {
    const { name, createdAt } = workspace
    if (!isUp(workspace)) return undefined
    const waiting = this.#before?.waiting.find(
      (each) => nameKey(each.name) === nameKey(name) && each.createdAt === createdAt.toISOString(),
    )
    return waiting && waitingStop(waiting.dueMs, this.#options.clock.nowMs())
  }

  #isCurrent(now: Workspace, followed: Followed): boolean {
    return idOf(now, effectiveSchedule(now, this.#options.defaults)) === followed.id
  }

  #forget(followed: Followed, stop: WaitingStop): void {
    if (followed.stop !== stop) return
    followed.stop = undefined
    // A restarted server must not stop a workspace that somebody has started since.
    this.#checkSoon()
  }

  async #write(): Promise<void> {
    const { table, clock } = this.#options
    this.#isUnwritten = false
    const waiting = table.list().flatMap(({ name, createdAt }) => {
      const stop = this.#followed.get(nameKey(name))?.stop
      return stop === undefined ? [] : [{ name, createdAt: createdAt.toISOString(), dueMs: stop.dueMs }]
    })
    const times = [...this.#followed.values()].flatMap(({ watch }) => watch?.handledMs ?? [])
    const handledMs = Math.max(0, Math.floor(times.length === 0 ? clock.wallMs() : Math.max(...times)))
    await this.#record.write({ version: 1, defaults: this.#defaults, handledMs, waiting })
  }

  #begin(action: Promise<void>): void {
    const ended = action.finally(() => this.#actions.delete(ended))
    this.#actions.add(ended)
  }

  /** Sets the timer for the next check; there is none without schedules. */
  #setTimer(): void {
    const { clock } = this.#options
    this.#cancel?.()
    this.#cancel = undefined
    this.#isCheckNear = false
    const all = [...this.#followed.values()]
    const nextMs = Math.min(...all.map(({ watch }) => watch?.nextMs ?? Infinity))
    const isWaiting = all.some(({ stop }) => stop !== undefined)
    if (nextMs === Infinity && !isWaiting) return
    const pauseMs = isWaiting ? WAITING_PAUSE_MS : LONGEST_PAUSE_MS
    const delayMs = Math.min(pauseMs, Math.max(0, nextMs - clock.wallMs()))
    this.#cancel = clock.after(delayMs, () => void this.check())
  }

  /** Checks soon, which writes the state and sets the timer. */
  #checkSoon(): void {
    this.#isUnwritten = true
    if (this.#isCheckNear || this.#closing.signal.aborted) return
    this.#isCheckNear = true
    this.#cancel?.()
    this.#cancel = this.#options.clock.after(0, () => void this.check())
  }
}

function waitingStop(dueMs: number, nowMs: number): WaitingStop {
  return { dueMs, latestMs: nowMs + LONGEST_WAIT_MS, retryMs: 0, isNoted: false, isTrying: false }
}

function isUp({ state }: Workspace): boolean {
  return state.is === 'running' || state.is === 'starting'
}

function reasonOf({ watch }: Followed, time: 'start' | 'stop', done: string): string {
  const { timeZone = '', [time]: expression = '' } = watch?.schedule ?? {}
  return `its schedule ${done} it (${time} "${expression}", ${timeZone})`
}

function idOf({ createdAt }: Workspace, schedule: EffectiveSchedule | undefined): string {
  return JSON.stringify([createdAt.getTime(), schedule])
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`
}
