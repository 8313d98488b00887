import type { AlarmClock } from '../../lib/clock/clock.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { ProcessLogs } from './process-logs.ts'

const LOOK_EVERY_MS = 2_000

/** Logs when lines of a process cannot be written to its file, and when they can again. Returns a function that stops. */
export function watchLostLines(logs: ProcessLogs, clock: AlarmClock, logger: Logger): () => void {
  const losing = new Set<string>()
  const known = new Map<string, number>()
  const look = (): void => {
    for (const [process, source] of logs.select(undefined)) {
      const { fileLostBytes: lostBytes } = source.counts()
      const before = known.get(process) ?? 0
      known.set(process, lostBytes)
      if (lostBytes > before && !losing.has(process)) {
        losing.add(process)
        logger.warn(
          { process, lostBytes },
          `lines of "${process}" cannot be written to its log file; the process keeps running, and the file will record the gap`,
        )
      } else if (lostBytes === before && losing.delete(process)) {
        logger.info({ process, lostBytes }, `lines of "${process}" are written to its log file again`)
      }
    }
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  let cancel = clock.after(LOOK_EVERY_MS, look)
  return () => cancel()
}
