import {
  accessSync,
  type BigIntStats,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'

const MICROSECONDS = 100_000

/** Limits of a control group. */
export interface GroupLimits {
  readonly memoryBytes: number | undefined
  readonly cpus: number | undefined
}

/** A control group's directory and its inode, which the kernel does not reuse until the next boot. */
export interface GroupIdentity {
  readonly path: string
  readonly inode: string
}

/** The control group of one process, which its descendants cannot leave. */
export interface ControlGroup {
  readonly identity: GroupIdentity
  /** File in which a process writes 0 to join. */
  readonly procsFile: string
  readonly pids: () => readonly number[]
  /** Returns the number of processes that the kernel killed for lack of memory. */
  readonly oomKills: () => number
  /** Kills all processes in it atomically, including new ones. */
  readonly kill: () => void
  readonly remove: () => void
}

/**
 * Control groups below the supervisor's. Only groups without processes can distribute limits, so the supervisor moves
 * into a sibling group when the first process is limited. Source: cgroup v2,
 * Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint".
 */
export class ControlGroups {
  readonly #own: string
  readonly #root: string
  readonly #itself: string

  private constructor(own: string, name: string) {
    this.#own = own
    this.#root = join(own, name)
    this.#itself = itselfOf(this.#root)
  }

  /** Opens the supervisor's groups; undefined if cgroup v2 is missing or not writable. */
  static open(name: string): ControlGroups | undefined {
    const own = ownGroup()
    if (own === undefined) return undefined
    const groups = new ControlGroups(own, name)
    try {
      mkdirSync(groups.#root, { recursive: true })
      // Since Linux 5.14; without it a group has no advantage over process groups.
      accessSync(join(groups.#root, 'cgroup.kill'), constants.W_OK)
      return groups
    } catch {
      return undefined
    }
  }

  /** Creates the group of a process. Also returns why limits have no effect, if so. */
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

  /** Removes all empty groups and moves the supervisor back to its original group. */
  close(): void {
    if (existsSync(this.#root))
      for (const entry of readdirSync(this.#root, { withFileTypes: true }))
        if (entry.isDirectory()) remove(join(this.#root, entry.name))
    remove(this.#root)
    if (!existsSync(this.#itself)) return
    try {
      writeFileSync(join(this.#own, 'cgroup.subtree_control'), '-memory -cpu')
      writeFileSync(join(this.#own, 'cgroup.procs'), String(process.pid))
      remove(this.#itself)
    } catch {
      // Surviving processes stay limited; the creator of the supervisor's group removes it.
    }
  }

  #limit(path: string, { memoryBytes, cpus }: GroupLimits): string | undefined {
    try {
      if (memoryBytes !== undefined) this.#handDown('memory')
      if (cpus !== undefined) this.#handDown('cpu')
      writeLimit(path, 'memory.max', memoryBytes)
      // The whole tree: killing half of it would leave a broken process.
      writeLimit(path, 'memory.oom.group', memoryBytes && 1, '0')
      const quota = cpus && Math.round(cpus * MICROSECONDS)
      writeLimit(path, 'cpu.max', quota && `${quota} ${MICROSECONDS}`)
      return undefined
    } catch (error) {
      return messageOf(error)
    }
  }

  #handDown(controller: 'memory' | 'cpu'): void {
    const readList = (file: string) => readFileSync(join(this.#own, file), 'utf8').trim().split(' ')
    if (!readList('cgroup.controllers').includes(controller))
      throw new Error(`the control group ${this.#own} has no "${controller}" controller`)
    if (!readList('cgroup.subtree_control').includes(controller)) this.#allowBelow(controller)
    writeFileSync(join(this.#root, 'cgroup.subtree_control'), `+${controller}`)
  }

  #allowBelow(controller: string): void {
    const file = join(this.#own, 'cgroup.subtree_control')
    try {
      return writeFileSync(file, `+${controller}`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    }
    mkdirSync(this.#itself, { recursive: true })
    writeFileSync(join(this.#itself, 'cgroup.procs'), String(process.pid))
    try {
      writeFileSync(file, `+${controller}`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
      throw new Error(
        `other processes are in the supervisor's control group ${this.#own}: start it in a separate group, such as a service with Delegate=yes`,
        { cause: error },
      )
    }
  }
}

/**
 * Returns the group that an earlier supervisor created, in any location. Returns undefined if it no longer exists or this process is in
 * it, because killing that group would kill this process too.
 */
export function findGroup({ path, inode }: GroupIdentity): ControlGroup | undefined {
  const found = statOf(path)
  if (found?.ino.toString() !== inode || readPids(path) === undefined) return undefined
  for (let above = ownGroup() ?? '/'; above !== dirname(above); above = dirname(above)) {
    const stat = statOf(above)
    if (stat?.ino === found.ino && stat.dev === found.dev) return undefined
  }
  return groupAt(path)
}

/** Removes an empty group of an earlier supervisor, and its empty parent groups. */
export function removeOldGroup({ path }: GroupIdentity): void {
  const root = dirname(path)
  for (const each of [path, root, itselfOf(root)]) remove(each)
}

/** Returns the group for the supervisor itself, next to those of its processes. */
function itselfOf(root: string): string {
  return `${root}-itself`
}

/** Writes a limit; undefined removes the limit of an earlier run. */
function writeLimit(path: string, file: string, value: number | string | undefined, none = 'max'): void {
  if (value !== undefined || existsSync(join(path, file)))
    writeFileSync(join(path, file), String(value ?? none))
}

/** Returns whether any limit is set. */
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
    identity: { path, inode: String(statOf(path)?.ino) },
    procsFile: join(path, 'cgroup.procs'),
    pids: () => readPids(path) ?? [],
    oomKills: () => readOomKills(path),
    kill() {
      try {
        writeFileSync(join(path, 'cgroup.kill'), '1')
      } catch {
        // It was removed, so it was empty.
      }
    },
    remove: () => remove(path),
  }
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })
}

function readPids(path: string): readonly number[] | undefined {
  try {
    return readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  } catch {
    return undefined
  }
}

function readOomKills(path: string): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(path, 'memory.events'), 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function remove(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Not empty: the code that waits for its processes reports them.
  }
}
