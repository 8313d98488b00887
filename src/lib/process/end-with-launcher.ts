import { readFileSync } from 'node:fs'

/** Where a launcher that is not npm names itself by its process id; `npm start` does so as well. */
export const LAUNCHER = 'SUITE_LAUNCHER'
const LOOK_EVERY_MS = 500

/**
 * Stops this process in good order once its launcher has ended: npm, or a program that names itself in the environment. A
 * launcher passes signals on, but one that is killed cannot, and would leave a server that nobody owns. Any other parent may
 * end as it likes: a shell, whose background process goes on.
 */
export function endWithLauncher(): void {
  const named = Number(process.env[LAUNCHER] ?? 0)
  // What this process starts is launched by it.
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

/** npm calls itself by its command: `npm start`, `npm exec …`. */
function isNpm(pid: number): boolean {
  try {
    return /^npm (start|run|exec|test)\b/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch {
    return false
  }
}
