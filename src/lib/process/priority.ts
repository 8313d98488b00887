import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { loadAddon } from '../../native/load.ts'

/** Some nine times the weight of the programs that this process runs. */
const NICENESS = -10

/**
 * Puts the main thread of this process above the programs that it runs, so that it answers while they use every processor; they begin
 * with niceness 0. Does nothing where the system does not allow that, as Linux allows root alone, and to a process that was started
 * with a niceness of its own.
 */
export function raisePriority(): void {
  const loaded = loadAddon()
  if (loaded.is !== 'loaded' || getPriority() !== 0 || !loaded.addon.prioritize(NICENESS)) return
  try {
    if (leadsSession()) writeFileSync('/proc/self/autogroup', String(NICENESS))
  } catch {
    // The kernel does not group processes by session.
  }
}

/**
 * Whether this process began a session, as a service does. Kernels that group processes by session (sched_autogroup) weigh them by
 * niceness only inside one: against other sessions and containers counts the niceness of the session, which a terminal's shell shares.
 * Source: sched(7).
 */
function leadsSession(): boolean {
  const status = readFileSync('/proc/self/stat', 'latin1')
  const [, , , session] = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return Number(session) === process.pid
}
