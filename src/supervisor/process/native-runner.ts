import { closeSync, constants as fsConstants, fchownSync, openSync, readdirSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { Readable } from 'node:stream'
import { messageOf } from '../../lib/errors/message.ts'
import { makePipe } from '../../native/programs/pipe.ts'
import {
  ExitWatch,
  type ProgramExit,
  type ProgramRequest,
  reapChild,
  startOnTerminal,
  startProgram,
} from '../../native/programs/programs.ts'
import { openPty } from '../../native/programs/pty.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import { fault } from '../errors.ts'
import {
  type ControlGroup,
  type ControlGroups,
  findGroup,
  type GroupIdentity,
  hasLimits,
  removeOldGroup,
} from './control-groups.ts'
import type { OrphanReaper } from './orphan-reaper.ts'
import { argvOf, environmentOf } from './process-environment.ts'
import type {
  ExitReport,
  Outputs,
  ProcessRunner,
  ProgramSpec,
  RecordedProgram,
  RunningProgram,
  StartedRun,
} from './process-runner.ts'
import { type ProcessSpec, RESOURCES } from '../process-spec.ts'
import { descendantsOf, INSTANCE_VARIABLE, PROCESS_VARIABLE, type StrayFinder } from './process-tree.ts'
import { runningTree } from './running-tree.ts'
import { findUser } from './system-user.ts'

/** Dependencies of the native runner. */
export interface RunnerParts {
  /** Marks everything this supervisor starts, across its own restarts. */
  readonly instance: string
  readonly environment: NodeJS.ProcessEnv
  readonly strays: StrayFinder
  readonly groups: ControlGroups | undefined
  readonly reaper: OrphanReaper | undefined
  readonly warn: (message: string) => void
}

/** Size of a terminal before its first viewer. */
const FIRST_SIZE = { columns: 80, rows: 24 }
/** Terminal type of programs if the supervisor itself has none. */
const DEFAULT_TERM = 'xterm-256color'

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
)

/** Starts programs with the addon: with limits, in control groups, and such that a later supervisor can take them over. */
export class NativeRunner implements ProcessRunner {
  readonly #parts: RunnerParts
  readonly #watch = new ExitWatch()
  readonly #oldGroups: GroupIdentity[] = []

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  start(spec: ProgramSpec, onExit: (exit: ExitReport) => void): StartedRun {
    const { instance, environment: inherited } = this.#parts
    const { tree = spec.name } = spec
    const user = spec.user === undefined ? undefined : findUser(spec.user)
    const environment = {
      ...environmentOf(spec, inherited),
      ...(user && { HOME: spec.env['HOME'] ?? user.home, USER: user.name, LOGNAME: user.name }),
      [INSTANCE_VARIABLE]: instance,
      [PROCESS_VARIABLE]: tree,
    }
    const group = this.#enclose(spec, tree)
    const request = {
      argv: argvOf(spec.command, environment),
      environment,
      directory: spec.cwd,
      user: user && [user.uid, user.gid, ...user.groups],
      limits: Object.entries(spec.limits).map(
        ([name, value]) => [RESOURCES[name as keyof typeof RESOURCES], value] as const,
      ),
      controlGroup: group?.procsFile,
    }
    try {
      if (spec.hasTerminal) return this.#startOnTerminal(tree, request, group, onExit)
      const { pid, outputs } = startProgram(request)
      const pipes = outputs.map((fd) => readlinkSync(`/proc/self/fd/${fd}`))
      return { program: this.#follow({ pid, name: tree, pipes }, group, onExit), outputs }
    } catch (error) {
      group?.remove()
      const [program = ''] = request.argv
      if (!program.includes('/') && /^ENOENT.*execve/.test(messageOf(error)))
        throw fault(
          'PROCESS_START_FAILED',
          `process "${spec.name}" cannot be started: "${program}" is not in PATH`,
        )
      throw fault(
        'PROCESS_START_FAILED',
        `process "${spec.name}" cannot be started: ${messageOf(error)}`,
        error,
      )
    }
  }

  #startOnTerminal(
    name: string,
    request: ProgramRequest,
    group: ControlGroup | undefined,
    onExit: (exit: ExitReport) => void,
  ): StartedRun {
    const { columns, rows } = FIRST_SIZE
    const terminal = openPty(columns, rows)
    try {
      const [uid, gid] = request.user ?? []
      // It may open its terminal by name.
      if (uid !== undefined && gid !== undefined) fchownSync(terminal.far, uid, gid)
      const environment = { TERM: DEFAULT_TERM, ...request.environment }
      const pid = startOnTerminal({ ...request, environment, terminal: terminal.far })
      const program = this.#follow({ pid, name }, group, onExit)
      return { program, outputs: [terminal.stream, Readable.from([])], terminal }
    } catch (error) {
      terminal.close()
      throw error
    } finally {
      closeSync(terminal.far)
    }
  }

  /**
   * Takes over a program of an earlier supervisor. Returns undefined if it has just exited, even if another process already has its
   * id, or if its output cannot be read. A program that has closed or redirected its output has none.
   */
  adopt(
    run: RecordedProgram,
    onExit: (exit: ExitReport) => void,
  ): { readonly program: RunningProgram; readonly outputs: Outputs } | undefined {
    const fds: number[] = []
    try {
      const add = (fd: number): number => {
        fds.push(fd)
        return fd
      }
      const { pid, pipes } = run
      const group = run.group === null ? undefined : findGroup(run.group)
      const [out = '', err = ''] = pipes
      // Another user's program with unreadable output is restarted.
      readdirSync(`/proc/${pid}/fd`)
      // After `exec > >(cat)` a child has the pipe.
      const all = [pid, ...descendantsOf(pid), ...(group?.pids() ?? [])]
      const outputs = [add(openOutput(out, all)), add(openOutput(err, all))] as const
      const program = this.#follow(run, group, onExit)
      if (group !== undefined) this.#oldGroups.push(group.identity)
      return { program, outputs }
    } catch {
      for (const fd of fds) closeSync(fd)
      return undefined
    }
  }

  /** Releases all programs and removes the empty control groups of those that were taken over. */
  close(): void {
    this.#watch.close()
    for (const group of this.#oldGroups) removeOldGroup(group)
  }

  /** Creates the control group of a process if possible, and warns about limits without effect. */
  #enclose(spec: ProcessSpec, tree: string): ControlGroup | undefined {
    const { groups, warn } = this.#parts
    if (groups === undefined) {
      if (hasLimits(spec))
        warn(
          `process "${spec.name}": limits.memory and limits.cpus have no effect, because control groups are not writable`,
        )
      return undefined
    }
    const { group, complaint } = groups.create(tree, spec)
    if (complaint !== undefined) warn(`process "${spec.name}": limits have no effect: ${complaint}`)
    return group
  }

  /** Watches a process. @throws Error when its id does not exist or belongs to a process with another start time */
  #follow(
    { pid, name, pipes, began }: Pick<RecordedProgram, 'pid' | 'name'> & Partial<RecordedProgram>,
    group: ControlGroup | undefined,
    onExit: (exit: ExitReport) => void,
  ): RunningProgram {
    const { strays, reaper } = this.#parts
    // Without pipes it is on a terminal, which is closed with the supervisor.
    const traces = pipes && { pipes, group: group?.identity ?? null }
    let hasEnded = false
    let isOurs = true
    const oomKillsBefore = group?.oomKills() ?? 0
    this.#watch.add(pid, (exit) => {
      if (!isOurs) return
      reapChild(pid)
      strays.removeLeader(pid)
      hasEnded = true
      onExit({ ...reportOf(exit), isOutOfMemory: (group?.oomKills() ?? 0) > oomKillsBefore })
    })
    // From here on the pidfd identifies the process; earlier lookups by id may be about a previous or later process.
    isOurs = began === undefined || readProcStat(pid)?.began === began
    if (!isOurs) throw new Error(`process id ${pid} was reused`)
    strays.addLeader(pid)
    return runningTree({
      pid,
      name,
      hasEnded: () => hasEnded,
      strays,
      group,
      reaper,
      ...(traces && { traces }),
    })
  }
}

function reportOf({ code, signal }: ProgramExit): ExitReport {
  return { code, signal: signal === undefined ? undefined : (SIGNAL_NAMES.get(signal) ?? 'SIGKILL') }
}

/**
 * Opens a pipe of an earlier supervisor for reading, through a process that has it. Returns an ended pipe if none has it.
 * A replacement is never opened: another pipe has its own reader, and opening a device can have any effect.
 */
function openOutput(pipe: string, pids: readonly number[]): number {
  for (const pid of pids) {
    const opened = openPipe(pipe, `/proc/${pid}/fd`)
    if (opened !== undefined) return opened
  }
  const { reader, writer } = makePipe(1)
  closeSync(writer)
  return reader
}

function openPipe(pipe: string, descriptors: string): number | undefined {
  try {
    for (const fd of readdirSync(descriptors)) {
      const path = `${descriptors}/${fd}`
      if (readLink(path) !== pipe) continue
      const opened = openSync(path, fsConstants.O_RDONLY | fsConstants.O_NONBLOCK)
      // It may have been redirected meanwhile.
      if (readLink(`/proc/self/fd/${opened}`) === pipe) return opened
      closeSync(opened)
    }
  } catch {
    // The process has just exited.
  }
  return undefined
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
