import { readFileSync } from 'node:fs'

/** Variable with the process id of a launcher that is not npm; `npm start` sets it too. */
export const LAUNCHER = 'SUITE_LAUNCHER'
const LOOK_EVERY_MS = 500

/**
 * Stops this process cleanly when its launcher has exited: npm, or a program named in the environment. A
 * launcher forwards signals, but a killed one cannot and would leave an orphaned server. Other parents, such as a shell
 * with a background process, may exit.
 */
export function endWithLauncher(): void {
  const named = Number(process.env[LAUNCHER] ?? 0)
  // Child processes have this process as their launcher.
  delete process.env[LAUNCHER]
  const launcher = named > 0 ? named : isNpm(process.ppid) ? process.ppid : 0
  if (launcher === 0) return
  const timer = setInterval(() => {
    if (process.ppid === launcher) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_EVERY_MS)
  timer.unref()
}

/** Whether a process is npm, whose title is its command: `npm start`, `npm exec …`. */
function isNpm(pid: number): boolean {
  try {
    return /^npm (start|run|exec|test)\b/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}
