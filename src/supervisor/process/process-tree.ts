import { readdirSync, readFileSync } from 'node:fs'
import { readProcStat } from '../../lib/process/proc-stat.ts'

/** Environment variables that mark every started program and identify its descendants. */
export const INSTANCE_VARIABLE = 'SUPERVISOR_INSTANCE'
/** Environment variable with the name of the process that a program belongs to. */
export const PROCESS_VARIABLE = 'SUPERVISOR_PROCESS'

/** Time that a list of processes is reused. */
const FRESH_MS = 5

/** Finds descendants that left their program's process group. */
export class StrayFinder {
  readonly #instance: string
  readonly #isSubreaper: boolean
  /** Programs started by this supervisor. */
  readonly #leaders = new Set<number>()
  #candidates: readonly number[] = []
  #readMs = Number.NEGATIVE_INFINITY

  /** @param isSubreaper whether orphans become children of this process */
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

  /** Returns a program's descendants outside its group: daemons and their descendants. */
  straysOf(leader: number, name: string): readonly number[] {
    return this.#read().flatMap((pid) => {
      const stat = readProcStat(pid)
      if (stat === undefined || stat.state === 'Z' || stat.group === leader) return []
      const isOurs = stat.session === leader || isMarked(pid, this.#instance, name)
      return isOurs ? [pid, ...(this.#isSubreaper ? descendantsOf(pid) : [])] : []
    })
  }

  /** Lists candidates: a subreaper's own children, or otherwise all processes. */
  #read(): readonly number[] {
    if (performance.now() - this.#readMs < FRESH_MS) return this.#candidates
    this.#readMs = performance.now()
    const all = this.#isSubreaper ? childrenOf(process.pid) : allProcesses()
    this.#candidates = all.filter((pid) => !this.#leaders.has(pid))
    return this.#candidates
  }
}

/** Whether a process descends from a program with this name; undefined matches any. */
function isMarked(pid: number, instance: string, name: string | undefined): boolean {
  const marks = marksOf(pid)
  return marks?.instance === instance && (name === undefined || marks.name === name)
}

/** Returns the marks of a process. */
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

/** Returns the PIDs of a process's children; none if it has exited. */
export function childrenOf(pid: number): readonly number[] {
  // Of all its threads: the kernel assigns orphans to the first live one.
  return entriesOf(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
      return children.split(' ').filter(Boolean).map(Number)
    } catch {
      // This thread has ended; its children belong to another one.
      return []
    }
  })
}

/** Returns the PIDs of a process's descendants. */
export function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** Returns the PIDs of all processes. */
export function allProcesses(): readonly number[] {
  return entriesOf('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

/** Returns the names in a directory of /proc; none if its process has exited or the system has no /proc. */
function entriesOf(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
