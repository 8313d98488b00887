import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { ActivityTable } from '../../../src/workspace/activity/activity-table.ts'
import { Scheduler } from '../../../src/workspace/activity/scheduler.ts'
import { WorkspaceTable } from '../../../src/workspace/lifecycle/table.ts'
import type { Schedule } from '../../../src/workspace/schedule.ts'
import { Timeline } from '../../../src/workspace/timeline/timeline.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'
import { type Fixed, occurrences } from '../../support/clock/occurrences.ts'
import { ServerClock } from '../../support/clock/server-clock.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'

const MINUTE_MS = 60_000
const TICK_MS = 15_000
const HOUR_MS = 60 * MINUTE_MS
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata'] as const
/** The clocks change on the second day in Berlin, or in New York. */
const BEGINNINGS = [
  '2026-03-28T00:00:00Z',
  '2026-10-24T00:00:00Z',
  '2026-03-07T12:00:00Z',
  '2026-10-31T12:00:00Z',
] as const
const TICKS = (3 * 24 * HOUR_MS) / TICK_MS

interface Times {
  readonly schedule: Schedule
  readonly starts: readonly number[]
  readonly stops: readonly number[]
}

/** The rules, followed tick by tick. */
class Oracle {
  isRunning = true
  uses = 0
  #lastUseMs: number
  #handledMs: number
  #stopLatestMs: number | undefined
  #times: Times

  constructor(times: Times, nowMs: number) {
    this.#times = times
    this.#handledMs = nowMs
    this.#lastUseMs = nowMs
  }

  tick(nowMs: number): void {
    const latest = (times: readonly number[]): number =>
      times.findLast((ms) => ms > this.#handledMs && ms <= nowMs) ?? 0
    const [startMs, stopMs] = [latest(this.#times.starts), latest(this.#times.stops)]
    this.#handledMs = nowMs
    if (startMs > 0 && startMs >= stopMs) {
      this.#stopLatestMs = undefined
      if (!this.isRunning && nowMs - startMs <= 10 * MINUTE_MS) this.setRunning(true, nowMs)
    } else if (stopMs > 0) this.#stopLatestMs = this.isRunning ? nowMs + 2 * HOUR_MS : undefined
    if (this.#stopLatestMs === undefined) return
    const isQuiet = this.uses === 0 && nowMs - this.#lastUseMs >= 5 * MINUTE_MS
    if (isQuiet || nowMs >= this.#stopLatestMs) this.setRunning(false, nowMs)
  }

  setRunning(isRunning: boolean, nowMs: number): void {
    this.isRunning = isRunning
    this.#lastUseMs = nowMs
    if (!isRunning) this.#stopLatestMs = undefined
  }

  setUses(uses: number, nowMs: number): void {
    this.uses = uses
    this.#lastUseMs = nowMs
  }

  setTimes(times: Times, nowMs: number): void {
    this.#times = times
    this.#handledMs = nowMs
    this.#lastUseMs = nowMs
    this.#stopLatestMs = undefined
  }

  /** The server was restarted: a stop that waited begins to wait again. */
  restart(nowMs: number): void {
    this.uses = 0
    this.#lastUseMs = nowMs
    if (this.#stopLatestMs !== undefined) this.#stopLatestMs = nowMs + 2 * HOUR_MS
  }
}

function randomTimes(random: Random, fromMs: number): Times {
  const zone = random.pick(ZONES)
  const untilMs = fromMs + (TICKS + 1) * TICK_MS
  const one = (): { readonly text: string | undefined; readonly times: readonly number[] } => {
    if (random.chance(0.15)) return { text: undefined, times: [] }
    const fixed: Fixed = {
      minute: random.below(60),
      hour: random.chance(0.5) ? random.below(4) : random.below(24),
      days: random.pick([[], [], [0, 6], [1, 2, 3, 4, 5]]),
    }
    const days = fixed.days.length === 0 ? '*' : fixed.days.join(',')
    const text = `${fixed.minute} ${fixed.hour} * * ${days}`
    return { text, times: occurrences(fixed, zone, fromMs, untilMs) }
  }
  const [start, stop] = [one(), one()]
  return {
    schedule: { start: start.text, stop: stop.text, timeZone: zone },
    starts: start.times,
    stops: stop.times,
  }
}

function open(
  clock: ServerClock,
  file: string,
  workspace: Workspace,
): {
  readonly table: WorkspaceTable
  readonly activity: ActivityTable
  readonly scheduler: Scheduler
} {
  const table = new WorkspaceTable()
  const activity = new ActivityTable(table, clock)
  table.set(workspace)
  const change = (is: 'running' | 'stopped', isWanted: (now: Workspace) => boolean): boolean => {
    const now = table.get('demo')
    if (now.state.is === is || !isWanted(now)) return false
    table.set({ ...now, state: { is } })
    return true
  }
  const scheduler = new Scheduler({
    defaults: {},
    table,
    lifecycle: {
      startIf: (_name, _reason, isWanted) => Promise.resolve(void change('running', isWanted)),
      restIf: (_name, _how, _reason, isWanted) => Promise.resolve(change('stopped', isWanted)),
    },
    checkpointer: { takeForPlan: () => Promise.resolve({ taken: 0, deleted: 0 }) },
    activity,
    sessions: { isAttached: () => Promise.resolve(false) },
    processes: { isRunningIn: () => false },
    timeline: new Timeline(clock),
    audit: { record: () => undefined },
    logger: createLogger({ level: 'silent', format: 'json' }),
    clock,
    file,
  })
  return { table, activity, scheduler }
}

const seeds = Array.from({ length: rounds(16, 200) }, (_, seed) => seed)

it.each(seeds)('random schedules, uses and restarts agree with the rules, seed %i', async (seed) => {
  const random = new Random(seed)
  const clock = new ServerClock(random.pick(BEGINNINGS))
  const file = join(tempDir(), 'schedule.json')
  const times = randomTimes(random, clock.wallMs())
  const createdAt = new Date(clock.wallMs())
  const workspace: Workspace = {
    name: 'demo',
    backend: 'docker',
    state: { is: 'running' },
    createdAt,
    schedule: times.schedule,
    repo: '',
    localDir: '',
    image: 'any:1',
    containerId: '1',
    ipAddress: '',
    pid: 0,
    rootfsPath: '',
    cpus: 0,
    memoryMb: 0,
    forwardPorts: [],
  }
  const oracle = new Oracle(times, clock.wallMs())
  let server = open(clock, file, workspace)
  await server.scheduler.start()
  let ends: (() => void)[] = []
  const story: string[] = [JSON.stringify(times.schedule)]
  let difference = ''
  for (let tick = 1; tick <= TICKS && difference === ''; tick++) {
    await clock.pass(TICK_MS)
    const nowMs = clock.wallMs()
    oracle.tick(nowMs)
    const status = server.table.get('demo').state.is
    const at = new Date(nowMs).toISOString()
    if ((status === 'running') !== oracle.isRunning)
      difference = `${at}: it is ${status}, after\n${story.slice(-12).join('\n')}`
    // People act half a minute after the scheduled times.
    if (tick % 4 !== 2 || !random.chance(0.02)) continue
    const now = server.table.get('demo')
    const action = random.pick(['start', 'stop', 'use', 'use', 'end', 'end', 'change', 'restart'] as const)
    story.push(`${at} ${action}`)
    if (action === 'start' || action === 'stop') {
      const isRunning = action === 'start'
      if (isRunning !== oracle.isRunning) oracle.setRunning(isRunning, nowMs)
      server.table.set({ ...now, state: { is: isRunning ? 'running' : 'stopped' } })
    } else if (action === 'use' && oracle.isRunning) {
      ends.push(server.activity.begin('demo'))
      oracle.setUses(ends.length, nowMs)
    } else if (action === 'end' && ends.length > 0) {
      ends.pop()?.()
      oracle.setUses(ends.length, nowMs)
    } else if (action === 'change') {
      const others = randomTimes(random, Date.parse(createdAt.toISOString()))
      oracle.setTimes(others, nowMs)
      server.table.set({ ...now, schedule: others.schedule })
      story.push(JSON.stringify(others.schedule))
    } else if (action === 'restart') {
      const ticks = random.pick([0, 4, 40, 400, 2_000])
      await server.scheduler.close()
      for (let passed = 0; passed < ticks; passed++) await clock.pass(TICK_MS)
      tick += ticks
      ends = []
      server = open(clock, file, server.table.get('demo'))
      await server.scheduler.start()
      oracle.restart(clock.wallMs())
      oracle.tick(clock.wallMs())
      await server.scheduler.ended()
    }
  }
  await server.scheduler.close()
  expect(difference).toBe('')
})
