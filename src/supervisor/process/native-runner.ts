import { closeSync, constants as fsConstants, fstatSync, openSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { messageOf } from '../../lib/errors/message.ts'
import { makePipe } from '../../native/programs/pipe.ts'
import { ExitWatch, type ProgramExit, reapChild, startProgram } from '../../native/programs/programs.ts'
import { fault } from '../errors.ts'
import { type ControlGroup, type ControlGroups, hasLimits } from './control-groups.ts'
import type { OrphanReaper } from './orphan-reaper.ts'
import { argvOf, environmentOf } from './process-environment.ts'
import type { ExitReport, Outputs, ProcessRunner, RunningProgram } from './process-runner.ts'
import { type ProcessSpec, RESOURCES } from '../process-spec.ts'
import { INSTANCE_VARIABLE, PROCESS_VARIABLE, type StrayFinder } from './process-tree.ts'
import { runningTree } from './running-tree.ts'
import { findUser } from './system-user.ts'

export interface RunnerParts {
  /** Marks all that this supervisor starts, also across its own restarts. */
  readonly instance: string
  readonly environment: NodeJS.ProcessEnv
  readonly strays: StrayFinder
  readonly groups: ControlGroups | undefined
  readonly reaper: OrphanReaper | undefined
  readonly warn: (message: string) => void
}

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
)

/** Starts programs by the addon: with limits, in control groups, and so that a later supervisor can take them over. */
export class NativeRunner implements ProcessRunner {
  readonly #parts: RunnerParts
  readonly #watch = new ExitWatch()

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  start(spec: ProcessSpec, onExit: (exit: ExitReport) => void): ReturnType<ProcessRunner['start']> {
    const { instance, environment: inherited } = this.#parts
    const user = spec.user === undefined ? undefined : findUser(spec.user)
    const environment = {
      ...environmentOf(spec, inherited),
      ...(user && { HOME: spec.env['HOME'] ?? user.home, USER: user.name, LOGNAME: user.name }),
      [INSTANCE_VARIABLE]: instance,
      [PROCESS_VARIABLE]: spec.name,
    }
    const group = this.#enclose(spec)
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
      const { pid, outputs } = startProgram(request)
      return { program: this.#follow(pid, spec.name, group, onExit), outputs }
    } catch (error) {
      group?.remove()
      throw fault(
        'PROCESS_START_FAILED',
        `process "${spec.name}" cannot be started: ${messageOf(error)}`,
        error,
      )
    }
  }

  /**
   * Takes over a program that an earlier supervisor has started. Returns undefined when it has just ended, or when its output cannot be
   * read. A program that has closed or redirected its output since then has none.
   */
  adopt(
    pid: number,
    name: string,
    onExit: (exit: ExitReport) => void,
  ): { readonly program: RunningProgram; readonly outputs: Outputs } | undefined {
    const fds: number[] = []
    try {
      const add = (fd: number): number => {
        fds.push(fd)
        return fd
      }
      const [out, err] = [1, 2].map((fd) => pipeAt(`/proc/${pid}/fd/${fd}`)) as [OpenPipe?, OpenPipe?]
      // One reader for both, as after `2>&1`: two would tear its lines apart.
      const isOne = out !== undefined && out.identity === err?.identity
      const outputs = [add(openOutput(out)), add(openOutput(isOne ? undefined : err))] as const
      return { program: this.#follow(pid, name, this.#parts.groups?.find(name), onExit), outputs }
    } catch {
      for (const fd of fds) closeSync(fd)
      return undefined
    }
  }

  close(): void {
    this.#watch.close()
  }

  /** Makes the control group of a process, where such may be written, and says which limits do not hold. */
  #enclose(spec: ProcessSpec): ControlGroup | undefined {
    const { groups, warn } = this.#parts
    if (groups === undefined) {
      if (hasLimits(spec))
        warn(
          `process "${spec.name}": limits.memory and limits.cpus need control groups, which may not be written here`,
        )
      return undefined
    }
    const { group, complaint } = groups.create(spec.name, spec)
    if (complaint !== undefined) warn(`process "${spec.name}": limits do not hold: ${complaint}`)
    return group
  }

  #follow(
    pid: number,
    name: string,
    group: ControlGroup | undefined,
    onExit: (exit: ExitReport) => void,
  ): RunningProgram {
    const { strays, reaper } = this.#parts
    let hasEnded = false
    const oomKillsBefore = group?.oomKills() ?? 0
    strays.addLeader(pid)
    this.#watch.add(pid, (exit) => {
      reapChild(pid)
      strays.removeLeader(pid)
      hasEnded = true
      onExit({ ...reportOf(exit), isOutOfMemory: (group?.oomKills() ?? 0) > oomKillsBefore })
    })
    return runningTree({ pid, name, hasEnded: () => hasEnded, strays, group, reaper })
  }
}

function reportOf({ code, signal }: ProgramExit): ExitReport {
  return { code, signal: signal === undefined ? undefined : (SIGNAL_NAMES.get(signal) ?? 'SIGKILL') }
}

interface OpenPipe {
  readonly path: string
  readonly identity: string
}

/** Returns the pipe that a program has open as a path of /proc, or undefined where it has something else or nothing there. */
function pipeAt(path: string): OpenPipe | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isFIFO() === true ? { path, identity: `${stats.dev}:${stats.ino}` } : undefined
}

/** Opens a pipe again for reading. Without one, returns a pipe that has ended; what is no pipe, such as a device, is never opened. */
function openOutput(pipe: OpenPipe | undefined): number {
  if (pipe !== undefined) {
    const opened = openSync(pipe.path, fsConstants.O_RDONLY | fsConstants.O_NONBLOCK)
    // It may have been redirected in between.
    if (fstatSync(opened).isFIFO()) return opened
    closeSync(opened)
  }
  const { reader, writer } = makePipe(1)
  closeSync(writer)
  return reader
}
