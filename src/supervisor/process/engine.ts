import { becomeSubreaper } from '../../native/programs/programs.ts'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { LogStore } from '../log/log-store.ts'
import { createNativeLogStore } from '../log/native-log-store.ts'
import { createPortableLogStore } from '../log/portable-log-store.ts'
import { ControlGroups } from './control-groups.ts'
import { NativeRunner, type RunnerParts } from './native-runner.ts'
import { OrphanReaper } from './orphan-reaper.ts'
import { PortableRunner } from './portable-runner.ts'
import type { ProcessRunner } from './process-runner.ts'
import { StrayFinder } from './process-tree.ts'

/** Runs programs and reads their output on this machine. */
export interface Engine {
  readonly runner: ProcessRunner
  /** Runner that can take over programs of an earlier supervisor, if available. */
  readonly native: NativeRunner | undefined
  readonly strays: StrayFinder
  readonly groups: ControlGroups | undefined
  readonly logs: LogStore
  readonly close: () => void
}

/** Opens the addon's engine on Linux; on other systems the Node fallback, which has fewer functions. */
export function openEngine({
  instance,
  environment,
  clock,
  warn,
  platform,
}: {
  readonly instance: string
  readonly environment: NodeJS.ProcessEnv
  readonly clock: AlarmClock
  readonly warn: (message: string) => void
  readonly platform: NodeJS.Platform
}): Engine {
  const isNative = platform === 'linux'
  const leaveOrphans = isNative ? becomeSubreaper() : undefined
  const strays = new StrayFinder(instance, leaveOrphans !== undefined)
  const groups = isNative ? ControlGroups.open(`supervisor-${instance.slice(0, 8)}`) : undefined
  const reaper = isNative ? new OrphanReaper(strays, clock) : undefined
  const parts: RunnerParts = { instance, environment, strays, groups, reaper, warn }
  const native = isNative ? new NativeRunner(parts) : undefined
  const logs = isNative ? createNativeLogStore() : createPortableLogStore(clock.wallMs)
  return {
    runner: native ?? new PortableRunner(parts),
    native,
    strays,
    groups,
    logs,
    close() {
      leaveOrphans?.()
      reaper?.stop()
      native?.close()
      groups?.close()
      logs.close()
    },
  }
}
