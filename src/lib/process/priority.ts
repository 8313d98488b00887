import { writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { loadAddon } from '../../native/load.ts'
import { readProcStat } from './proc-stat.ts'

/** About nine times the weight of the programs that this process runs. */
const NICENESS = -10

/**
 * Gives all threads of this process priority over the programs it starts, so that it responds while they use every CPU. They
 * start with niceness 0. Does nothing without permission (Linux requires root), or if the process was
 * started with a niceness other than 0.
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
 * Returns whether this process leads its session, as a service does. Kernels that group processes by session (sched_autogroup) apply
 * niceness only inside a session. Against other sessions and containers, the niceness of the session counts, which a terminal's shell
 * shares. Source: sched(7).
 */
function leadsSession(): boolean {
  return readProcStat(process.pid)?.session === process.pid
}
