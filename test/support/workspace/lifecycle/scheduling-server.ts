import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Scheduler } from '../../../../src/workspace/activity/scheduler.ts'
import type { Schedule, ScheduleInput } from '../../../../src/workspace/schedule.ts'
import { ServerClock } from '../../clock/server-clock.ts'
import { tempDir } from '../../temp-dir.ts'
import { FakeBackend } from '../backend/fake-backend.ts'
import { type TimedHost, timedServer } from './timed-server.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** A schedule of office hours. */
export const OFFICE = { start: '0 8 * * *', stop: '0 19 * * *', timeZone: 'UTC' } as const

type Host = TimedHost<ServerClock>

interface Options {
  readonly defaults?: Schedule
  readonly isAttached?: () => Promise<boolean>
}

/** Returns a host at noon, without workspaces. */
export function newHost(): Host {
  return { backend: new FakeBackend(), stateDir: tempDir(), clock: new ServerClock('2026-06-01T12:00:00Z') }
}

/** A server's scheduler on a host at noon; a second one on the same host is its restart. */
export async function schedulingServer(host: Host = newHost(), { defaults = {}, isAttached }: Options = {}) {
  const { stateDir, clock } = host
  const { parts, ...server } = await timedServer(host)
  const scheduler = new Scheduler({
    ...parts,
    defaults,
    checkpointer: { takeForPlan: () => Promise.resolve({ taken: 0, deleted: 0 }) },
    sessions: { isAttached: isAttached ?? (() => Promise.resolve(false)) },
    clock,
    file: join(stateDir, 'schedule.json'),
  })
  onTestFinished(() => scheduler.close())
  await scheduler.start()
  return {
    ...host,
    ...server,
    host,
    scheduler,
    async create(name: string, schedule?: ScheduleInput) {
      const { make } = await server.lifecycle.prepareCreate({ name, schedule })
      await make(() => undefined)
    },
    /** Lets time pass until a time of day, and what then begins end. */
    async until(time: string) {
      const [hour = 0, minute = 0] = time.split(':').map(Number)
      const wanted = (hour * 60 + minute) * MINUTE_MS
      await this.pass(((wanted - (clock.wallMs() % DAY_MS) + DAY_MS) % DAY_MS) + 1)
    },
    async pass(ms: number) {
      const endMs = clock.nowMs() + ms
      while (clock.nowMs() < endMs) {
        await clock.pass(Math.min(MINUTE_MS, endMs - clock.nowMs()))
        await scheduler.ended()
      }
    },
  }
}

/** Starts the next server of a host, after a time without one. */
export async function restart(
  old: Awaited<ReturnType<typeof schedulingServer>>,
  downMs: number,
  options?: Options,
) {
  await old.scheduler.close()
  await old.clock.pass(downMs)
  return schedulingServer(old.host, options)
}
