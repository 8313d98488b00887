import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Exec } from 'dockerode'
import type { ExecProcess, ExecRequest } from '../backend.ts'
import { demultiplex } from './demux.ts'
import type { DockerEngine } from './engine.ts'
import { isHostProcess } from './host-process.ts'

const RESIZE_RETRY_MS = [5, 20, 50, 100, 200]
const EXIT_POLL_MS = [0, 5, 20, 50, 100, 200, 400, 800, 1_600]

/** Starts a program inside a running container. */
export async function execInContainer(
  engine: DockerEngine,
  container: string,
  directory: string,
  request: ExecRequest,
): Promise<ExecProcess> {
  const { terminal } = request
  const hasStdin = request.stdin ?? true
  const exec = await engine.call('running a program', (abortSignal) =>
    engine.docker.getContainer(container).exec({
      Cmd: terminal === undefined ? [...request.argv] : inTerminal(request.argv, terminal),
      Env: Object.entries(request.environment ?? {}).map(([name, value]) => `${name}=${value}`),
      AttachStdin: hasStdin,
      AttachStdout: true,
      AttachStderr: true,
      Tty: terminal !== undefined,
      WorkingDir: directory,
      ...(request.user !== undefined && { User: request.user }),
      abortSignal,
    }),
  )
  // Hijacked, because only the raw socket can end standard input without ending the output (docker-modem issue 48).
  const socket = (await engine.call('running a program', (abortSignal) =>
    exec.start({ hijack: true, stdin: true, Tty: terminal !== undefined, abortSignal }),
  )) as unknown as Socket
  socket.on('error', () => socket.destroy())
  let lastSize = Promise.resolve()
  const resize = (columns: number, rows: number): void => {
    lastSize = lastSize.then(() => resizeWhenReady(exec, columns, rows))
  }

  const inspect = () =>
    engine.call('asking for an exit status', (abortSignal) => exec.inspect({ abortSignal }))
  const signal = async (name: NodeJS.Signals): Promise<boolean> => signalGroup(await inspect(), name)
  const output = terminal === undefined ? demultiplex(socket) : { stdout: socket, stderr: Readable.from([]) }
  return {
    stdin: socket,
    stdout: output.stdout,
    stderr: output.stderr,
    exitStatus: exitStatus(socket, inspect),
    resize,
    signal,
    async hangUp() {
      await signal('SIGHUP').catch(() => false)
      socket.destroy()
    },
  }
}

/**
 * The engine sets a window's size only after the program has started (and since API 1.42 before). So that the program
 * never sees another size than the user's, a shell sets it first and then becomes the program.
 */
function inTerminal(
  argv: readonly string[],
  size: { readonly columns: number; readonly rows: number },
): string[] {
  const script = `stty cols ${size.columns} rows ${size.rows} 2>/dev/null; exec "$@"`
  return ['/bin/sh', '-c', script, 'sh', ...argv]
}

/** A program that has just been started may not have its window yet. */
async function resizeWhenReady(exec: Exec, columns: number, rows: number): Promise<void> {
  for (const waitMs of RESIZE_RETRY_MS) {
    try {
      await exec.resize({ w: columns, h: rows })
      return
    } catch {
      await delay(waitMs)
    }
  }
}

async function exitStatus(
  socket: Socket,
  inspect: () => Promise<{ Running: boolean; ExitCode: number | null }>,
): Promise<number> {
  await new Promise<void>((resolve) => socket.once('end', resolve).once('close', resolve))
  // The stream can end a moment before the engine has noted the exit.
  for (const waitMs of EXIT_POLL_MS) {
    if (waitMs > 0) await delay(waitMs)
    const { Running, ExitCode } = await inspect()
    if (!Running && ExitCode !== null) return ExitCode
  }
  return 128 + constants.signals.SIGHUP
}

/** An exec's process leads a group of its own. */
async function signalGroup(
  exec: { readonly Pid: number; readonly ContainerID: string },
  name: NodeJS.Signals,
): Promise<boolean> {
  if (!(await isHostProcess(exec.Pid, exec.ContainerID))) return false
  try {
    process.kill(-exec.Pid, name)
    return true
  } catch {
    return false
  }
}
