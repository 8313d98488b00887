import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Exec, ExecInspectInfo } from 'dockerode'
import { WORKSPACE_DIR } from '../../../workspace.ts'
import type { ExecRequest } from '../../backend.ts'
import type { DockerEngine } from '../engine/engine.ts'

const START_POLL_MS = [5, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000]
const EXIT_POLL_MS = [0, 5, 20, 50, 100, 200, 400, 800, 1_600]

/** A program started by the engine, and the engine's stream of its input and output. */
export interface StartedExec {
  readonly exec: Exec
  readonly socket: Socket
  readonly inspect: () => Promise<ExecInspectInfo>
}

/** Starts a program inside a running container through the engine. */
export async function startExec(
  engine: DockerEngine,
  container: string,
  request: ExecRequest,
): Promise<StartedExec> {
  const hasTerminal = request.terminal !== undefined
  const exec = await engine.call('running a program', (abortSignal) =>
    engine.docker.getContainer(container).exec({
      Cmd: [...request.argv],
      Env: Object.entries(request.environment ?? {}).map(([name, value]) => `${name}=${value}`),
      AttachStdin: request.stdin ?? true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: hasTerminal,
      WorkingDir: request.directory ?? WORKSPACE_DIR,
      ...(request.user !== undefined && { User: request.user }),
      abortSignal,
    }),
  )
  // Hijacked, because only the raw socket can end standard input without ending the output (docker-modem
  // issue 48).
  const socket = (await engine.call('running a program', (abortSignal) =>
    exec.start({ hijack: true, stdin: true, Tty: hasTerminal, abortSignal }),
  )) as unknown as Socket
  socket.on('error', () => socket.destroy())
  const inspect = () =>
    engine.call('asking for an exit status', (abortSignal) => exec.inspect({ abortSignal }))
  return { exec, socket, inspect }
}

/**
 * Returns the engine's report on a program that has started. The program may write, and its client leave, before a busy
 * engine has recorded its process.
 */
export async function inspectStarted({ inspect }: Pick<StartedExec, 'inspect'>): Promise<ExecInspectInfo> {
  let report = await inspect()
  for (const waitMs of START_POLL_MS) {
    if (report.Pid > 0 || report.ExitCode !== null) break
    await delay(waitMs)
    report = await inspect()
  }
  return report
}

/** Returns a program's exit status as the engine reports it once the stream has ended. */
export async function programStatus({ socket, inspect }: StartedExec): Promise<number> {
  if (!socket.readableEnded && !socket.destroyed)
    await new Promise<void>((resolve) => socket.once('end', resolve).once('close', resolve))
  // The stream can end a moment before the engine records the exit.
  for (const waitMs of EXIT_POLL_MS) {
    if (waitMs > 0) await delay(waitMs)
    const { Running, ExitCode } = await inspect()
    if (!Running && ExitCode !== null) return ExitCode
  }
  return 128 + constants.signals.SIGHUP
}
