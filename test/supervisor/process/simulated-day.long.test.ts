import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import type { HealthReport } from '../../../src/supervisor/health/health.ts'
import type {
  ExitReport,
  ProcessRunner,
  RunningProgram,
} from '../../../src/supervisor/process/process-runner.ts'
import type { ProcessSpec } from '../../../src/supervisor/process-spec.ts'
import { statusOf } from '../../../src/supervisor/process/process-state.ts'
import { ProcessTable } from '../../../src/supervisor/process/process-table.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { processSpec as spec } from '../../support/supervisor/process-spec.ts'

/** Number of simulated days; set SUPERVISOR_TEST_DAYS=1000 for a long run. */
const DAYS = Number(process.env['SUPERVISOR_TEST_DAYS'] ?? 20)
const DAY_MS = 24 * 60 * 60 * 1_000

/** Fake programs that only record what is running. */
class FakeMachine implements ProcessRunner {
  readonly alive = new Map<number, { readonly name: string; isLeader: boolean; ignoresTerm: boolean }>()
  readonly #exits = new Map<number, (exit: ExitReport) => void>()
  #lastPid = 1_000
  mayStart = true
  ignoresTerm = false

  start(of: ProcessSpec, onExit: (exit: ExitReport) => void) {
    const pid = ++this.#lastPid
    this.alive.set(pid, { name: of.name, isLeader: true, ignoresTerm: this.ignoresTerm })
    this.#exits.set(pid, onExit)
    const mine = (): readonly number[] =>
      [...this.alive.keys()].filter((each) => each === pid || this.#owner.get(each) === pid)
    const program: RunningProgram = {
      pid,
      hasEnded: () => !this.alive.has(pid),
      hasLeftovers: () => mine().length > 0,
      leftovers: mine,
      signal: (signal) => {
        for (const each of mine()) {
          const found = this.alive.get(each)
          if (signal === 'SIGKILL' || found?.ignoresTerm === false)
            this.end(each, { code: undefined, signal })
        }
      },
    }
    return { program, outputs: [0, 0] as const }
  }

  readonly #owner = new Map<number, number>()

  /** Makes the program leave a process behind. */
  leaveBehind(pid: number): void {
    const daemon = ++this.#lastPid
    this.alive.set(daemon, { name: 'daemon', isLeader: false, ignoresTerm: this.ignoresTerm })
    this.#owner.set(daemon, pid)
  }

  end(pid: number, exit: ExitReport): void {
    if (!this.alive.delete(pid)) return
    const onExit = this.#exits.get(pid)
    this.#exits.delete(pid)
    // Never in the middle of a supervisor operation.
    queueMicrotask(() => onExit?.(exit))
  }

  leaders(): readonly number[] {
    return [...this.alive].filter(([, { isLeader }]) => isLeader).map(([pid]) => pid)
  }
}

const check = {
  probe: { kind: 'tcp', host: 'x', port: 1 },
  intervalMs: 1_000,
  timeoutMs: 100,
  retries: 3,
  initialDelayMs: undefined,
  startIntervalMs: 1_000,
  startPeriodMs: 0,
  onUnhealthy: 'restart',
} as const

const rolling = {
  healthCheck: check,
  restart: 'always',
  startFirst: { startTimeoutMs: 30_000, drainTimeoutMs: 5_000 },
  proxy: { subdomain: 'rolling', port: 0, holdMs: undefined },
} as const

const specs = (version: number): readonly ProcessSpec[] => [
  spec('rolling', { ...rolling, env: { VERSION: String(version % 3) } }),
  spec('db', { healthCheck: check, restart: 'always', env: { VERSION: String(version % 3) } }),
  spec('task', { restart: 'never', dependsOn: { db: 'healthy' } }),
  spec('web', { dependsOn: { task: 'completed', db: 'started' }, stopTimeoutMs: 1_000 }),
  spec('worker', { restart: version % 2 === 0 ? 'always' : 'on-failure' }),
  ...(version % 5 === 0 ? [] : [spec('extra', { restart: 'never' })]),
]

const NAMES = ['rolling', 'db', 'task', 'web', 'worker', 'extra', 'nobody']
const name = fc.constantFrom(...NAMES)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1_000, max: 900_000 })),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      which: fc.nat(9),
      code: fc.constantFrom(0, 1, 137),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('start' as const, 'stop' as const, 'restart' as const),
      name,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('health' as const), isGood: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deaf' as const), isDeaf: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reload' as const), version: fc.nat(9) }) },
)

async function simulate(
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<void> {
  const clock = new FakeClock()
  const machine = new FakeMachine()
  const checks = new Set<(report: HealthReport) => void>()
  let lastPort = 20_000
  const table = new ProcessTable(specs(1), {
    clock,
    runner: machine,
    checkHealth: (_spec, onReport) => {
      checks.add(onReport)
      return () => checks.delete(onReport)
    },
    runStopCommand: () => Promise.resolve(),
    choosePort: () => ++lastPort,
    // Requests to every second program do not end.
    drained: ({ pid }) => (pid % 2 === 0 ? Promise.resolve() : new Promise(() => undefined)),
    onRun: () => undefined,
    onChange: () => undefined,
    onOpen: () => undefined,
    onRemove: () => undefined,
  })
  const expectInvariants = (): void => {
    for (const { spec: each, state, program, runs, uptimeMs, history } of table.list()) {
      const leaders = machine.leaders().filter((pid) => machine.alive.get(pid)?.name === each.name)
      const others = runs.filter((run) => run.program !== program)
      expect(others.length, each.name).toBeLessThanOrEqual(each.startFirst === undefined ? 0 : 1)
      expect(new Set(runs.map((run) => run.spec.tree)).size, each.name).toBe(runs.length)
      const mine = leaders.filter((pid) => others.every((run) => run.program.pid !== pid))
      // Never two current runs of one process, and the states match the running programs.
      expect(mine.length, each.name).toBeLessThanOrEqual(1)
      if (state.is === 'running' || state.is === 'starting') expect(mine, each.name).toEqual([program?.pid])
      if (state.is === 'stopped' || state.is === 'crashed' || state.is === 'waiting')
        expect(mine, `${each.name} is ${state.is}`).toEqual([])
      expect(history.changes.at(-1)?.status ?? 'stopped').toBe(statusOf(state))
      expect(uptimeMs).toBeGreaterThanOrEqual(0)
      if (state.is === 'crashed' && state.retryAtMs !== undefined)
        expect(state.retryAtMs - clock.wallMs()).toBeLessThanOrEqual(60_000)
    }
  }
  const settle = (work: Promise<unknown>): void => void work.catch(() => undefined)
  table.startAll()
  for (const one of steps) {
    const leaders = machine.leaders()
    const which = 'which' in one ? leaders[one.which % Math.max(1, leaders.length)] : undefined
    if (one.do === 'pass') await clock.pass(one.ms)
    else if (one.do === 'crash' && which !== undefined)
      machine.end(which, { code: one.code, signal: undefined })
    else if (one.do === 'leave' && which !== undefined) machine.leaveBehind(which)
    else if (one.do === 'deaf') machine.ignoresTerm = one.isDeaf
    else if (one.do === 'reload') settle(table.reload(specs(one.version)))
    else if (one.do === 'health')
      for (const report of checks)
        report({
          health: one.isGood ? 'healthy' : 'unhealthy',
          lastCheckMs: clock.wallMs(),
          lastOutput: '',
          hasFailed: !one.isGood,
          consecutiveFailures: 0,
        })
    else if ('name' in one && table.find(one.name) !== undefined) {
      const process = table.get(one.name)
      if (one.do === 'stop') settle(process.stop())
      else if (one.do === 'restart') settle(table.restart(one.name))
      else settle((async () => table.start(one.name))())
    }
    await clock.pass(1)
    expectInvariants()
  }
  const stopped = table.stopAll(9_000)
  const end = { isReached: false }
  const reach = async (): Promise<void> => {
    await stopped
    end.isReached = true
  }
  void reach()
  // Each waits for its dependents, and time passes only here.
  for (let seconds = 0; seconds < 60 && !end.isReached; seconds++) await clock.pass(1_000)
  expect(end.isReached).toBe(true)
  expect(table.list().map(({ spec: each, isDown }) => [each.name, isDown])).toEqual(
    table.list().map(({ spec: each }) => [each.name, true]),
  )
  expect([...machine.alive.values()]).toEqual([])
  expect(clock.timers).toBe(0)
}

test('a day of crashes, stops, starts and reloads leaves no process behind and no wrong state', async () => {
  // About 200 events per day; a failure reports the seed that reproduces it.
  const day = fc.array(step, { minLength: 200, maxLength: 240, size: 'max' })
  await fc.assert(
    fc.asyncProperty(day, async (steps) => {
      const passes = steps.reduce((sum, one) => sum + (one.do === 'pass' ? one.ms : 1), 0)
      await simulate([...steps, { do: 'pass', ms: Math.max(1, DAY_MS - passes) }])
    }),
    { numRuns: DAYS },
  )
})
