import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { fault } from '../errors.ts'
import { hasLimits } from './control-groups.ts'
import type { RunnerParts } from './native-runner.ts'
import { argvOf, environmentOf } from './process-environment.ts'
import type { ExitReport, ProcessRunner, ProgramSpec, StartedRun } from './process-runner.ts'
import { INSTANCE_VARIABLE, PROCESS_VARIABLE } from './process-tree.ts'
import { runningTree } from './running-tree.ts'
import { findUser } from './system-user.ts'

/** Starts programs with Node on systems other than Linux: without limits or take-over. */
export class PortableRunner implements ProcessRunner {
  readonly #parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  start(spec: ProgramSpec, onExit: (exit: ExitReport) => void): StartedRun {
    const { instance, environment: inherited, strays, warn } = this.#parts
    const { tree = spec.name } = spec
    if (Object.keys(spec.limits).length > 0 || hasLimits(spec))
      warn(`process "${spec.name}": limits have no effect, because they require Linux`)
    if (spec.hasTerminal) warn(`process "${spec.name}": tty has no effect, because it requires Linux`)
    const user = spec.user === undefined ? undefined : findUser(spec.user)
    const environment = {
      ...environmentOf(spec, inherited),
      ...(user && { HOME: spec.env['HOME'] ?? user.home, USER: user.name, LOGNAME: user.name }),
      [INSTANCE_VARIABLE]: instance,
      [PROCESS_VARIABLE]: tree,
    }
    // Node reports a missing directory as a missing program.
    if (!statSync(spec.cwd, { throwIfNoEntry: false })?.isDirectory())
      throw fault(
        'PROCESS_START_FAILED',
        `process "${spec.name}" cannot be started: ${spec.cwd} is not a directory`,
      )
    const [program = '', ...argv] = argvOf(spec.command, environment)
    const child = spawn(program, argv, {
      cwd: spec.cwd,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(user && { uid: user.uid, gid: user.gid }),
    })
    const { pid } = child
    // Reported asynchronously; a missing id shows it immediately.
    child.on('error', () => undefined)
    if (pid === undefined)
      throw fault(
        'PROCESS_START_FAILED',
        `process "${spec.name}" cannot be started: ${program} does not exist or is not executable`,
      )
    let hasEnded = false
    strays.addLeader(pid)
    child.on('exit', (code, signal) => {
      strays.removeLeader(pid)
      hasEnded = true
      onExit({ code: code ?? undefined, signal: signal ?? undefined })
    })
    return {
      program: runningTree({
        pid,
        name: tree,
        hasEnded: () => hasEnded,
        strays,
        group: undefined,
        reaper: undefined,
      }),
      outputs: [child.stdout, child.stderr],
    }
  }
}
