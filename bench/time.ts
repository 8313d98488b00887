import { execFileSync } from 'node:child_process'

/** Work to time: a function, or a command with its arguments. */
export type Subject = (() => unknown) | readonly [string, ...string[]]

/** Runs the work once. Returns its duration. */
export async function timeMs(subject: Subject): Promise<number> {
  const startMs = performance.now()
  if (typeof subject === 'function') {
    await subject()
  } else {
    const [command, ...args] = subject
    execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return performance.now() - startMs
}
