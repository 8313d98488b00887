import { readdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import { identityOf, type ProcessIdentity } from '../../lib/process/process-identity.ts'
import type { Random } from '../../lib/random/random.ts'
import type { ServerObjects } from '../backend/docker/server-objects.ts'
import type { Clients } from './clients.ts'
import type { FaultKind } from './kinds.ts'
import type { Ledger } from './ledger.ts'
import type { PrivateServer } from './private-server.ts'

const HOUR_MS = 3_600_000
const CLOCK_SHIFTS_MS = [-24 * HOUR_MS, -HOUR_MS, -1_000, 1_000, HOUR_MS, 30 * 24 * HOUR_MS]
/** Most milliseconds for which the disk is full, and after which a starting server is killed. */
const LONGEST_MS = 1_500

/** Targets of faults. */
interface FaultTargets {
  readonly server: PrivateServer
  readonly clients: Clients
  readonly objects: ServerObjects
  readonly ledger: Ledger
  /** Adds processes that must exit soon. */
  readonly expectExit: (processes: readonly ProcessIdentity[]) => void
}

/** A fault that was injected. */
export interface InjectedFault {
  /** When recovery began, in milliseconds of the monotonic clock. */
  readonly sinceMs: number
  /** The workspace that it hit, if it hit only one. */
  readonly workspace?: string
}

/**
 * Injects a fault, and undoes what only an operator would undo. Resolves to undefined when there was nothing to hit.
 *
 * @throws BACKEND_UNAVAILABLE when the server does not start again
 */
type Fault = (targets: FaultTargets, random: Random) => Promise<InjectedFault | undefined>

/** The faults by kind. */
export const FAULTS: Readonly<Record<FaultKind, Fault>> = {
  server: killServer,
  worker: killWorker,
  workspace: killWorkspace,
  cut: cutConnections,
  disk: fillDisk,
  clock: shiftClock,
}

/** Returns why faults of a kind cannot be injected here, or undefined. */
export function whyImpossible(kind: FaultKind, server: PrivateServer): string | undefined {
  if (kind === 'disk') return server.whyNoDisk
  if (kind === 'worker' && process.platform !== 'linux')
    return 'the workers of a server are found only on Linux'
  return undefined
}

/** Kills the server, and every fourth time also the next one while it starts. */
async function killServer(
  { server, expectExit }: FaultTargets,
  random: Random,
): Promise<InjectedFault | undefined> {
  expectExit(await childrenOf(server.running.pid))
  const fault = injected()
  await server.running.kill()
  await server.start(random.chance(0.25) ? random.below(LONGEST_MS) : undefined)
  return fault
}

async function killWorker({ server }: FaultTargets, random: Random): Promise<InjectedFault | undefined> {
  const children = await childrenOf(server.running.pid)
  if (children.length === 0) return undefined
  process.kill(random.pick(children).pid, 'SIGKILL')
  return injected()
}

async function killWorkspace(
  { objects, ledger }: FaultTargets,
  random: Random,
): Promise<InjectedFault | undefined> {
  const running = ledger.workspaces.filter(
    ({ exists, status }) =>
      exists.isSettled && exists.admits(true) && status.isSettled && status.admits('running'),
  )
  if (running.length === 0) return undefined
  const workspace = random.pick(running)
  workspace.noteInterruption()
  workspace.status.leaveOpen('running', 'stopped')
  try {
    await objects.kill(workspace.name)
  } catch {
    // It was stopped or deleted meanwhile.
    return undefined
  } finally {
    // Its client may have started it before it was killed.
    workspace.status.leaveOpen('running', 'stopped')
  }
  return { ...injected(), workspace: workspace.name }
}

function cutConnections({ clients }: FaultTargets): Promise<InjectedFault | undefined> {
  return Promise.resolve(clients.cut() > 0 ? injected() : undefined)
}

async function fillDisk({ server }: FaultTargets, random: Random): Promise<InjectedFault> {
  const free = server.fillDisk()
  await delay(random.below(LONGEST_MS))
  free()
  return injected()
}

async function shiftClock({ server }: FaultTargets, random: Random): Promise<InjectedFault> {
  await server.running.shiftClock(random.pick(CLOCK_SHIFTS_MS))
  return injected()
}

function injected(): InjectedFault {
  return { sinceMs: performance.now() }
}

/** Returns the child processes of a process; none where there is no /proc. */
export async function childrenOf(pid: number): Promise<readonly ProcessIdentity[]> {
  const entries = await readdir('/proc').catch(
    ignore('there is no /proc outside Linux', [] as readonly string[]),
  )
  const pids = entries.filter((name) => /^\d+$/.test(name)).map(Number)
  return pids.filter((each) => readProcStat(each)?.parent === pid).map(identityOf)
}
