import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { RunningProgram } from './process-runner.ts'
import type { ProcessSpec } from '../process-spec.ts'

/** Interval of checks for remaining processes. */
const LOOK_EVERY_MS = 20
/** Time after SIGKILL until surviving processes are reported. */
const GIVE_UP_MS = 2_000

/** Asks a program to exit: by its stop command, and SIGKILL if that fails, or else by its stop signal. */
export function askToEnd<S extends ProcessSpec>(
  program: RunningProgram,
  spec: S,
  runStopCommand: (spec: S) => Promise<void>,
): void {
  if (spec.stopCommand === undefined) return program.signal(spec.stopSignal)
  runStopCommand(spec).catch(() => program.signal('SIGKILL'))
}

/**
 * Waits until nothing of a program is left. When the program itself has exited, its remaining processes get the signal too;
 * after the stop timeout they are killed. `onEnded` gets a message if even that failed. Returns
 * a function that stops waiting.
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
      return onEnded(`processes ${program.leftovers().join(', ')} do not exit`)
    if (nowMs >= killAtMs) {
      // Repeatedly, because new processes may have appeared.
      program.signal('SIGKILL')
      killedMs ??= nowMs
    } else if (program.hasEnded() && !areLeftoversAsked) {
      // The program was responsible for its children; the remaining ones get the signal from here.
      areLeftoversAsked = true
      program.signal(stopSignal)
    }
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  let cancel = clock.after(1, look)
  return () => cancel()
}
