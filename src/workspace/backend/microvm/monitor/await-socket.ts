import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../../../errors.ts'
import { lastLines } from './console-log.ts'
import { signalProcess } from './machine-process.ts'
import type { Monitor } from './spawn-monitor.ts'

const START_TIMEOUT_MS = 20_000
const LOOK_EVERY_MS = 20

/**
 * Waits until a monitor or one of its helpers listens on a socket.
 *
 * @throws BACKEND_ERROR with its last output when it exits or takes longer than 20 s; it is killed then
 */
export async function awaitSocket(
  path: string,
  monitor: Monitor,
  logFile: string,
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + START_TIMEOUT_MS
  let ended: number | string | undefined
  void monitor.ended.then((how) => (ended = how))
  while (!existsSync(path)) {
    if (ended === undefined && performance.now() < until) {
      await delay(LOOK_EVERY_MS, undefined, { signal })
      continue
    }
    await signalProcess(monitor.process, 'SIGKILL')
    const how = ended === undefined ? 'does not respond' : `exited with ${ended}`
    throw fault(
      'BACKEND_ERROR',
      `the VM cannot be started: its monitor ${how}: ${await lastLines(logFile, 3)}`,
    )
  }
}
