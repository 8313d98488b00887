import { readProcStat } from './proc-stat.ts'

/** Whether a process runs, whoever's it is. One that has ended and that nobody has waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // Without /proc, on macOS, the first process always waits for those that are left over.
  return readProcStat(pid)?.state !== 'Z'
}
