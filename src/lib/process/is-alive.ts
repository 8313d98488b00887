import { readFileSync } from 'node:fs'

/** Whether a process runs, whoever's it is. One that has ended and that nobody has waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  try {
    // The name before the state may hold anything, a parenthesis too (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z'
  } catch {
    // No /proc: macOS, whose first process always waits for those that are left over.
    return true
  }
}
