import { readdirSync, readFileSync } from 'node:fs'
import { readProcStat } from '../../lib/process/proc-stat.ts'

/** Variables that mark every program we start, and by which what it leaves behind is known. */
export const INSTANCE_VARIABLE = 'SUPERVISOR_INSTANCE'
export const PROCESS_VARIABLE = 'SUPERVISOR_PROCESS'

/** How long a list of processes is believed. */
const FRESH_MS = 5

/** Finds processes that left the group of the program that they belong to. */
export class StrayFinder {
  readonly #instance: string
  readonly #isSubreaper: boolean
  /** Programs that we have started ourselves. */
  readonly #leaders = new Set<number>()
  #candidates: readonly number[] = []
  #readMs = Number.NEGATIVE_INFINITY

  /** @param isSubreaper whether processes that lost their parent become children of this one */
  constructor(instance: string, isSubreaper: boolean) {
    this.#instance = instance
    this.#isSubreaper = isSubreaper
  }

  addLeader(pid: number): void {
    this.#leaders.add(pid)
  }

  removeLeader(pid: number): void {
    this.#leaders.delete(pid)
  }

  isLeader(pid: number): boolean {
    return this.#leaders.has(pid)
  }

  /** Processes that belong to a program and are not in its group: daemons, and what these have started. */
  straysOf(leader: number, name: string): readonly number[] {
    return this.#read().flatMap((pid) => {
      const stat = readProcStat(pid)
      if (stat === undefined || stat.state === 'Z' || stat.group === leader) return []
      const isOurs = stat.session === leader || isMarked(pid, this.#instance, name)
      return isOurs ? [pid, ...(this.#isSubreaper ? descendantsOf(pid) : [])] : []
    })
  }

  /** As a subreaper, those whose parents have ended are among our own children; otherwise all must be looked at. */
  #read(): readonly number[] {
    if (performance.now() - this.#readMs < FRESH_MS) return this.#candidates
    this.#readMs = performance.now()
    const all = this.#isSubreaper ? childrenOf(process.pid) : allProcesses()
    this.#candidates = all.filter((pid) => !this.#leaders.has(pid))
    return this.#candidates
  }
}

/** Whether a process was started, however far down, by a program of that name; undefined stands for any. */
function isMarked(pid: number, instance: string, name: string | undefined): boolean {
  const marks = marksOf(pid)
  return marks?.instance === instance && (name === undefined || marks.name === name)
}

/** What marks a process bears. */
export function marksOf(pid: number): { readonly instance: string; readonly name: string } | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    if (!environment.includes(INSTANCE_VARIABLE)) return undefined
    const value = (name: string): string =>
      environment
        .split('\0')
        .find((entry) => entry.startsWith(`${name}=`))
        ?.slice(name.length + 1) ?? ''
    return { instance: value(INSTANCE_VARIABLE), name: value(PROCESS_VARIABLE) }
  } catch {
    return undefined
  }
}

export function childrenOf(pid: number): readonly number[] {
  try {
    // Of all its threads: the kernel hands orphans to the first that lives.
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

export function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

export function allProcesses(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}
