import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../src/lib/errors/message.ts'
import { GuestFailure } from './failure.ts'

const ROOT = '/sys/fs/cgroup'
/** Contains the programs that this agent has started, while they are frozen and from then on. */
const PROGRAMS = 'programs'
const MOST_ROUNDS = 20
const FREEZE_MS = 2_000
const POLL_MS = 5
/** Programs continue by then, even if the host never asks for it. */
const LONGEST_MS = 60_000

let frozen: readonly string[] = []
let late: NodeJS.Timeout | undefined

/**
 * Keeps all programs from running, except this one and init, until `thaw`: a machine that continues from a copy of the memory
 * gets its identity before they do. Source: the kernel's admin-guide/cgroup-v2.
 *
 * @throws GuestFailure when it cannot; nothing stays frozen
 */
export async function freeze(): Promise<void> {
  thaw()
  try {
    const own = join(ROOT, /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/')
    mkdirSync(join(own, PROGRAMS), { recursive: true })
    moveOthers(own)
    frozen = [...groupsIn(own), ...groupsBeside(own)]
    late = setTimeout(thaw, LONGEST_MS)
    for (const group of frozen) writeFileSync(join(group, 'cgroup.freeze'), '1')
    await areFrozen(frozen)
  } catch (error) {
    thaw()
    throw new GuestFailure('NO_FREEZE', `programs cannot be frozen: ${messageOf(error)}`)
  }
}

/** Lets programs run again; does nothing when none are frozen. */
export function thaw(): void {
  clearTimeout(late)
  for (const group of frozen) {
    try {
      writeFileSync(join(group, 'cgroup.freeze'), '0')
    } catch {
      // The group has been removed with its last program.
    }
  }
  frozen = []
}

/** Moves the programs in this agent's group to one that can be frozen without it. */
function moveOthers(own: string): void {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const ids = readFileSync(join(own, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
    const moved = ids.filter((id) => id > 1 && id !== process.pid && isMoved(id, join(own, PROGRAMS)))
    if (moved.length === 0) return
  }
}

/** Returns false for a process that has ended, or belongs to the kernel. */
function isMoved(id: number, group: string): boolean {
  try {
    writeFileSync(join(group, 'cgroup.procs'), String(id))
    return true
  } catch {
    return false
  }
}

function groupsIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(directory, entry.name))
}

/** Returns the groups of other programs: those beside this agent's group, and beside each group above it. */
function groupsBeside(own: string): readonly string[] {
  if (own === ROOT || !own.startsWith(ROOT)) return []
  const others = groupsIn(dirname(own)).filter((group) => group !== own && !group.endsWith('/init.scope'))
  return [...others, ...groupsBeside(dirname(own))]
}

async function areFrozen(groups: readonly string[]): Promise<void> {
  const untilMs = performance.now() + FREEZE_MS
  for (const group of groups) {
    while (!isFrozen(group)) {
      if (performance.now() > untilMs) throw new Error(`${group} does not stop`)
      await delay(POLL_MS)
    }
  }
}

function isFrozen(group: string): boolean {
  return /^frozen 1$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8'))
}
