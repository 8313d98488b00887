import { closeSync, constants, openSync } from 'node:fs'
import { type Addon, getAddon, loadAddon } from '../load.ts'

/** A program to start. */
export interface ProgramRequest {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  /** Ids of its user, group and supplementary groups; default this process's own. */
  readonly user?: readonly number[] | undefined
  /** Pairs of resource and limit, numbered as in setrlimit(2). */
  readonly limits: readonly (readonly [resource: number, value: number])[]
  /** The `cgroup.procs` file of its control group. */
  readonly controlGroup?: string | undefined
}

/** A program that runs on a terminal. */
interface TerminalRequest extends ProgramRequest {
  /** The program's end of the terminal; the caller closes it afterwards. */
  readonly terminal: number
}

/** A running program, and the read ends of its standard output and error, which the caller must close. */
export interface StartedProgram {
  readonly pid: number
  readonly outputs: readonly [stdout: number, stderr: number]
}

const PIPE_BYTES = 65_536

/**
 * Whether the addon can start programs, which needs Linux; elsewhere `node:child_process` starts them, with
 * fewer features.
 */
export function canStartPrograms(): boolean {
  return process.platform === 'linux' && loadAddon().is === 'loaded'
}

/**
 * Starts a program as a session leader, without input. It has its pipes open in both directions:
 * they outlive this process, and a program that prints without a reader blocks instead of being killed by
 * SIGPIPE. A later process opens them at /proc/PID/fd and continues reading. Source: vfork(2), pipe(7).
 *
 * @throws Error with code, errno and syscall: ENOENT and EACCES of `execve`, `chdir` or `cgroup`, EPERM of
 * `setrlimit`
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
    return { pid: spawn(request, farOutput, farError, false), outputs: [stdout, stderr] }
  } catch (error) {
    open.forEach((fd) => closeSync(fd))
    throw error
  } finally {
    far.forEach((fd) => closeSync(fd))
  }
}

/**
 * Starts a program as the leader of the session of a terminal, which is its input and its output. It gets SIGHUP when the
 * terminal's other end is closed. Returns its id. Source: TIOCSCTTY, ioctl_tty(2).
 *
 * @throws Error as `startProgram` does
 */
export function startOnTerminal({ terminal, ...request }: TerminalRequest): number {
  return spawn(request, terminal, terminal, true)
}

function spawn(request: ProgramRequest, output: number, error: number, isTerminal: boolean): number {
  return addon().spawnProgram(
    request.argv,
    Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
    request.directory,
    output,
    error,
    request.user ?? null,
    request.limits.flat(),
    request.controlGroup ?? '',
    isTerminal,
  )
}

/** Exit of a process; both are undefined if only its parent can know. */
export interface ProgramExit {
  readonly code: number | undefined
  readonly signal: number | undefined
}

/**
 * Waits for processes to exit, whether they are children or not; does not reap children. Source:
 * pidfd_open(2).
 */
export class ExitWatch {
  readonly #watch: InstanceType<Addon['ExitWatch']>
  readonly #waiting = new Map<number, (exit: ProgramExit) => void>()

  constructor() {
    const { ExitWatch: AddonWatch } = addon()
    this.#watch = new AddonWatch((pid, code, signal) => {
      const report = this.#waiting.get(pid)
      this.#waiting.delete(pid)
      report?.({ code: code < 0 ? undefined : code, signal: signal === 0 ? undefined : signal })
    })
  }

  /** Watches a process. @throws ESRCH when it does not exist */
  add(pid: number, onExit: (exit: ProgramExit) => void): void {
    this.#watch.add(pid)
    this.#waiting.set(pid, onExit)
  }

  close(): void {
    this.#watch.close()
  }
}

/** Users of this process that need its descendants' orphans. */
const subreapers = new Set<symbol>()

/**
 * Makes this process the parent of its descendants' orphans until the returned function is called, by the last one if several
 * need them. Returns undefined if it cannot be.
 */
export function becomeSubreaper(): (() => void) | undefined {
  if (!canStartPrograms() || !addon().setSubreaper(true)) return undefined
  const user = Symbol('subreaper')
  subreapers.add(user)
  return () => {
    // Orphans that nobody reaps any more would remain zombies and keep their process groups.
    if (subreapers.delete(user) && subreapers.size === 0) addon().setSubreaper(false)
  }
}

/** Reaps an exited child, so that its id can be reused. Returns whether there was one. */
export function reapChild(pid: number): boolean {
  return addon().reapChild(pid)
}

/**
 * Sends a datagram to a Unix socket, without waiting.
 *
 * @throws an error with code EPROTOTYPE for a stream socket, and EAGAIN or ENOBUFS for a receiver without room
 */
export function sendDatagram(socket: string, bytes: Uint8Array): void {
  addon().sendDatagram(socket, bytes)
}

/** Sends a message to the service manager at a socket. Source: sd_notify(3). */
export function notifyManager(socket: string, text: string): void {
  addon().notifyManager(socket, text)
}

function addon(): Addon {
  return getAddon('starting programs')
}
