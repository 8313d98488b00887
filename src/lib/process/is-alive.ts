import { readProcStat } from './proc-stat.ts'

/** Whether a process of any user is running; a zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // Without /proc, on macOS, init always reaps orphans.
  return readProcStat(pid)?.state !== 'Z'
}
