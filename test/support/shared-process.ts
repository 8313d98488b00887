import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { afterAll, vi } from 'vitest'
import { readProcStat } from '../../src/lib/process/proc-stat.ts'
import { childrenOf } from '../../src/supervisor/process/process-tree.ts'

/**
 * Setup of each everyday file. These files share processes and modules; one that leaves anything to the next fails.
 */

/** Limit for what ends without being awaited, such as a process that was killed. */
const MOST_MS = 5000

/** Kinds of `process.getActiveResourcesInfo` that a file must close. */
const RESOURCES = /^(?:TCPServerWrap|PipeServerWrap|UDPWrap|ProcessWrap|FSEventWrap|StatWatcher)$/

const before = stateOfProcess()

afterAll(async () => {
  if (vi.isFakeTimers()) throw new Error('left to the next file: fake timers')
  const until = performance.now() + MOST_MS
  let left = changesSince(before)
  while (left.length > 0 && performance.now() < until) {
    await setTimeout(10)
    left = changesSince(before)
  }
  if (left.length > 0) throw new Error(`left to the next file: ${left.join(', ')}`)
})

/** Returns what tests of a process share, by name. */
function stateOfProcess(): ReadonlyMap<string, string> {
  const state = new Map<string, string>()
  for (const [name, value] of Object.entries(process.env)) state.set(`variable ${name}`, value ?? '')
  // Libraries remove theirs of "exit" when their objects are collected.
  for (const name of process.eventNames().filter((each) => each !== 'exit'))
    state.set(`listeners of ${String(name)}`, String(process.listenerCount(name)))
  for (const resource of process.getActiveResourcesInfo().filter((each) => RESOURCES.test(each)))
    state.set(resource, String(Number(state.get(resource) ?? 0) + 1))
  for (const pid of livingChildren()) state.set(`process ${pid}`, commandOf(pid))
  state.set('directory', process.cwd())
  state.set('umask', process.umask().toString(8))
  state.set('platform', process.platform)
  return state
}

function changesSince(earlier: ReadonlyMap<string, string>): readonly string[] {
  const now = stateOfProcess()
  return [...new Set([...earlier.keys(), ...now.keys()])]
    .filter((name) => earlier.get(name) !== now.get(name))
    .map((name) => `${name} (${earlier.get(name) ?? 'none'} before, ${now.get(name) ?? 'none'} after)`)
}

/** Zombies are left out: a supervisor reaps orphans as long as it runs, and the next one those of the last. */
function livingChildren(): readonly number[] {
  return childrenOf(process.pid).filter((pid) => (readProcStat(pid)?.state ?? 'Z') !== 'Z')
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return 'ended'
  }
}
