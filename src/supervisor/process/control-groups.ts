import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'

const MICROSECONDS = 100_000

/** What a control group holds its processes to. */
export interface GroupLimits {
  readonly memoryBytes: number | undefined
  readonly cpus: number | undefined
}

/** The control group of one process: all that it starts is in it, whatever it does to leave. */
export interface ControlGroup {
  /** Where a process writes 0 to come in. */
  readonly procsFile: string
  readonly pids: () => readonly number[]
  /** Ends all in it at once, new ones too. */
  readonly kill: () => void
  readonly remove: () => void
}

/** Control groups below one of this supervisor's own. Source: cgroup v2, Documentation/admin-guide/cgroup-v2.rst. */
export class ControlGroups {
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
  }

  /** Undefined where there is no second version of control groups, or where it may not be written. */
  static open(name: string): ControlGroups | undefined {
    const own = ownGroup()
    if (own === undefined) return undefined
    const root = join(own, name)
    try {
      mkdirSync(root, { recursive: true })
      // Since Linux 5.14; without it a group is no better than what there is beside.
      accessSync(join(root, 'cgroup.kill'), constants.W_OK)
      return new ControlGroups(root)
    } catch {
      return undefined
    }
  }

  /** Makes the group of a process; there may be as many as the machine allows. Returns why limits do not hold, beside it. */
  create(
    name: string,
    limits: GroupLimits,
  ): { readonly group: ControlGroup | undefined; readonly complaint: string | undefined } {
    const path = join(this.#root, name)
    try {
      mkdirSync(path, { recursive: true })
    } catch (error) {
      return { group: undefined, complaint: hasLimits(limits) ? messageOf(error) : undefined }
    }
    return { group: groupAt(path), complaint: this.#limit(path, limits) }
  }

  /** The group of a process that an earlier supervisor has made; undefined when there is none. */
  find(name: string): ControlGroup | undefined {
    const path = join(this.#root, name)
    return readPids(path) === undefined ? undefined : groupAt(path)
  }

  /** Removes all groups in which nothing is left. */
  close(): void {
    for (const entry of readdirSync(this.#root, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(this.#root, entry.name))
    remove(this.#root)
  }

  #limit(path: string, { memoryBytes, cpus }: GroupLimits): string | undefined {
    if (!hasLimits({ memoryBytes, cpus })) return undefined
    try {
      writeFileSync(join(this.#root, 'cgroup.subtree_control'), '+memory +cpu')
      if (memoryBytes !== undefined) writeFileSync(join(path, 'memory.max'), String(memoryBytes))
      if (cpus !== undefined)
        writeFileSync(join(path, 'cpu.max'), `${Math.round(cpus * MICROSECONDS)} ${MICROSECONDS}`)
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  }
}

export function hasLimits({ memoryBytes, cpus }: GroupLimits): boolean {
  return memoryBytes !== undefined || cpus !== undefined
}

function ownGroup(): string | undefined {
  try {
    const [, path] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
    const mounted = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, , type]) => type === 'cgroup2')?.[1]
    return path === undefined || mounted === undefined ? undefined : join(mounted, path)
  } catch {
    return undefined
  }
}

function groupAt(path: string): ControlGroup {
  return {
    procsFile: join(path, 'cgroup.procs'),
    pids: () => readPids(path) ?? [],
    kill() {
      try {
        writeFileSync(join(path, 'cgroup.kill'), '1')
      } catch {
        // It has been removed, so nothing was in it.
      }
    },
    remove: () => remove(path),
  }
}

function readPids(path: string): readonly number[] | undefined {
  try {
    return readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  } catch {
    return undefined
  }
}

function remove(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Not empty: what is in it is told by whoever waits for its end.
  }
}
