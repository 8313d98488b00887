import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { RunningProgram } from './process-runner.ts'
import type { ProcessSpec } from '../process-spec.ts'

/** How often it is looked whether all of a program has ended. */
const LOOK_EVERY_MS = 20
/** What survives SIGKILL this long is beyond us, and is told. */
const GIVE_UP_MS = 2_000

/**
 * Waits until nothing of a program is left. When the program itself has ended, what it has left behind is asked to end as well;
 * what is there after the process's stop timeout is killed. `onEnded` gets a complaint where even that did not help. Returns
 * how to stop waiting.
 */
export function endTree(
  program: RunningProgram,
  { stopSignal, stopTimeoutMs }: ProcessSpec,
  clock: AlarmClock,
  onEnded: (complaint?: string) => void,
): () => void {
  const killAtMs = clock.nowMs() + stopTimeoutMs
  let areLeftoversAsked = false
  let killedMs: number | undefined
  const look = (): void => {
    if (!program.hasLeftovers()) return onEnded()
    const nowMs = clock.nowMs()
    if (killedMs !== undefined && nowMs - killedMs > GIVE_UP_MS)
      return onEnded(`processes ${program.leftovers().join(', ')} do not end`)
    if (nowMs >= killAtMs) {
      // Again and again: there may be new ones each time.
      program.signal('SIGKILL')
      killedMs ??= nowMs
    } else if (program.hasEnded() && !areLeftoversAsked) {
      // The program was to tell its own; those it has left behind are told by us.
      areLeftoversAsked = true
      program.signal(stopSignal)
    }
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  let cancel = clock.after(1, look)
  return () => cancel()
}
