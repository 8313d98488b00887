import { closeSync, constants, openSync } from 'node:fs'
import { type Addon, getAddon, loadAddon } from '../load.ts'

/** A program to start, as the system knows it. */
export interface ProgramRequest {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  /** Ids of its user, group and further groups; this process's own when left out. */
  readonly user?: readonly number[] | undefined
  /** Pairs of a resource and its limit, as setrlimit(2) numbers them. */
  readonly limits: readonly (readonly [resource: number, value: number])[]
  /** The `cgroup.procs` file of the control group that it begins in. */
  readonly controlGroup?: string | undefined
}

/** A program that runs, and the ends of its standard output and error to read, which are the caller's to close. */
export interface StartedProgram {
  readonly pid: number
  readonly outputs: readonly [stdout: number, stderr: number]
}

const PIPE_BYTES = 65_536

/** Whether the addon can start programs, which takes Linux; `node:child_process` starts them elsewhere, with less. */
export function canStartPrograms(): boolean {
  return process.platform === 'linux' && loadAddon().is === 'loaded'
}

/**
 * Starts a program as the leader of a session of its own, without input. It has its pipes open both ways: they outlive this
 * process, and a program that prints when nobody reads waits instead of being ended by SIGPIPE. Whoever comes next opens
 * them at /proc/PID/fd and goes on reading. Source: vfork(2), pipe(7).
 *
 * @throws Error with code, errno and syscall: ENOENT and EACCES of `execve`, `chdir` or `cgroup`, EPERM of `setrlimit`
 */
export function startProgram(request: ProgramRequest): StartedProgram {
  const native = addon()
  const open: number[] = []
  const pipe = (): readonly [reader: number, both: number] => {
    const [reader, writer] = native.makePipe(PIPE_BYTES)
    open.push(reader)
    try {
      return [reader, openSync(`/proc/self/fd/${writer}`, constants.O_RDWR)]
    } finally {
      closeSync(writer)
    }
  }
  const far: number[] = []
  try {
    const [stdout, farOutput] = pipe()
    far.push(farOutput)
    const [stderr, farError] = pipe()
    far.push(farError)
    const pid = native.spawnProgram(
      request.argv,
      Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
      request.directory,
      farOutput,
      farError,
      request.user ?? null,
      request.limits.flat(),
      request.controlGroup ?? '',
    )
    return { pid, outputs: [stdout, stderr] }
  } catch (error) {
    open.forEach((fd) => closeSync(fd))
    throw error
  } finally {
    far.forEach((fd) => closeSync(fd))
  }
}

/** How a process ended; both undefined where only its parent is told. */
export interface ProgramExit {
  readonly code: number | undefined
  readonly signal: number | undefined
}

/** Waits for the end of processes, this one's children or not, of which children stay unreaped. Source: pidfd_open(2). */
export class ExitWatch {
  readonly #watch: InstanceType<Addon['ExitWatch']>
  readonly #waiting = new Map<number, (exit: ProgramExit) => void>()

  constructor() {
    const { ExitWatch: AddonWatch } = addon()
    this.#watch = new AddonWatch((pid, code, signal) => {
      const tell = this.#waiting.get(pid)
      this.#waiting.delete(pid)
      tell?.({ code: code < 0 ? undefined : code, signal: signal === 0 ? undefined : signal })
    })
  }

  /** @throws Error with code ESRCH where there is no such process */
  add(pid: number, onExit: (exit: ProgramExit) => void): void {
    this.#watch.add(pid)
    this.#waiting.set(pid, onExit)
  }

  close(): void {
    this.#watch.close()
  }
}

/** Makes this process the parent of what its descendants leave behind; whether it could be. */
export function becomeSubreaper(): boolean {
  return canStartPrograms() && addon().becomeSubreaper()
}

/** Lets go of a child that has ended, so that its id may be used anew; whether there was one. */
export function reapChild(pid: number): boolean {
  return addon().reapChild(pid)
}

/** Tells the service manager at that socket something. Source: sd_notify(3). */
export function notifyManager(socket: string, text: string): void {
  addon().notifyManager(socket, text)
}

function addon(): Addon {
  return getAddon('starting programs')
}
