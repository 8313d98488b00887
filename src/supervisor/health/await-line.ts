import type { Clock } from '../../lib/clock/clock.ts'
import { createLineTest } from '../log/line-filter.ts'
import { LogFollower } from '../log/log-follower.ts'
import type { ProcessLogs } from '../log/process-logs.ts'
import { type HealthReport, UNCHECKED } from './health.ts'

/** The line that is awaited. */
interface AwaitedLine {
  readonly process: string
  readonly text: string
  /** Last line before the run: its own first line may be read before this is called. */
  readonly afterSequence: number
}

/** Reports a process as healthy at the first line of a run that contains a text. Returns a function that stops waiting. */
export function awaitLine(
  logs: ProcessLogs,
  { process, text, afterSequence }: AwaitedLine,
  clock: Clock,
  onReport: (report: HealthReport) => void,
): () => void {
  const follower = new LogFollower(
    logs,
    {
      isReady: () => true,
      onLines: ([line]) => {
        follower.end()
        onReport({
          ...UNCHECKED,
          health: 'healthy',
          lastCheckMs: clock.wallMs(),
          lastOutput: line?.text ?? '',
        })
      },
      onLost: () => undefined,
    },
    { processes: [process], test: createLineTest(text, false), afterSequence },
  )
  return () => follower.end()
}
