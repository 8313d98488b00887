import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Exec } from 'dockerode'
import { ignore } from '../../../../lib/errors/ignore.ts'
import type { ExecProcess, ExecRequest } from '../../backend.ts'
import { demultiplex } from '../engine/demux.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { isHostProcess } from '../engine/host-process.ts'
import { inspectStarted, programStatus, startExec } from './start-exec.ts'

const RESIZE_RETRY_MS = [5, 20, 50, 100, 200]
/** On a busy machine, the shell that sets a terminal's first size may do so after a resize, and undo it. */
const SETTLED_MS = 10_000
/** The repetitions of a resize until then. A program is notified only of those that change its size. */
const REPEAT_RESIZE_MS = [50, 200, 800, 3_000, 9_000]

/** Runs a program inside a running container over the engine's stream. */
export async function execByEngine(
  engine: DockerEngine,
  container: string,
  request: ExecRequest,
): Promise<ExecProcess> {
  const { terminal } = request
  const argv = terminal === undefined ? request.argv : inTerminal(request.argv, terminal)
  const started = await startExec(engine, container, { ...request, argv })
  const { exec, socket } = started
  const startedMs = performance.now()
  let lastSize = Promise.resolve()
  let resizes = 0
  const resize = (columns: number, rows: number): void => {
    const turn = ++resizes
    const apply = (): void => {
      lastSize = lastSize.then(() => (turn === resizes ? resizeWhenReady(exec, columns, rows) : undefined))
    }
    apply()
    if (performance.now() - startedMs > SETTLED_MS) return
    for (const waitMs of REPEAT_RESIZE_MS) setTimeout(apply, waitMs).unref()
  }
  const signal = async (name: NodeJS.Signals): Promise<boolean> =>
    signalGroup(await inspectStarted(started), name)
  const exitStatus = programStatus(started).then((status) => ({ status }))
  exitStatus.catch(ignore('not every caller awaits it'))
  const output = terminal === undefined ? demultiplex(socket) : { stdout: socket, stderr: Readable.from([]) }
  return {
    stdin: socket,
    stdout: output.stdout,
    stderr: output.stderr,
    exitStatus,
    resize,
    signal,
    async hangUp() {
      await signal('SIGHUP').catch(ignore('it loses its input in any case'))
      socket.destroy()
    },
  }
}

/**
 * Wraps a command in a shell that sets the window size before it becomes the program, because the engine sets
 * the size only after the program has started (since API 1.42, before). The program therefore never sees a
 * wrong size.
 */
function inTerminal(
  argv: readonly string[],
  size: { readonly columns: number; readonly rows: number },
): string[] {
  const script = `stty cols ${size.columns} rows ${size.rows} 2>/dev/null; exec "$@"`
  return ['/bin/sh', '-c', script, 'sh', ...argv]
}

/** Resizes the window, retrying because a program that has just started may not have one yet. */
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

/** Signals an exec's process group, which its process leads. */
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
