import type { Socket } from 'node:net'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { unlessAborted } from '../../../lib/process/unless-aborted.ts'
import { sendDescriptors } from '../../../native/pipe.ts'
import { RUNNER } from '../../../native/runner.ts'
import type { ExecProcess, ExecRequest, ExitStatus } from '../backend.ts'
import { type DockerEngine, engineStatus } from './engine.ts'
import { INSIDE } from './inside-dirs.ts'
import type { MeetingPoint } from './meeting-point.ts'
import { openPipes, type ProgramStreams } from './program-pipes.ts'
import { RunnerControl } from './runner-control.ts'
import { programStatus, type StartedExec, startExec } from './start-exec.ts'

/** What the engine answers when the container cannot run any program: it is gone, or it does not run. */
const NO_CONTAINER = [404, 409]
const LOOK_EVERY_MS = 10

/**
 * Runs a program inside a running container with pipes of ours for its standard streams, so that its bytes pass the engine
 * by: the engine starts a runner, which comes for the pipes and then starts the program. Undefined where that cannot be done;
 * the program has then not been started.
 */
export async function execDirectly(
  engine: DockerEngine,
  container: string,
  point: MeetingPoint,
  request: ExecRequest,
): Promise<ExecProcess | undefined> {
  const expected = point.expect()
  try {
    const started = await startRunner(engine, container, request)
    if (started === undefined) return undefined
    const runner = await meet(engine, started, `meet ${point.name} ${expected.word}`, expected.met)
    const streams = runner === undefined ? undefined : passPipes(runner, request.stdin ?? true)
    if (runner === undefined || streams === undefined) return void started.socket.destroy()
    return processOf(started, new RunnerControl(runner), streams)
  } finally {
    expected.forget()
  }
}

/** Tells the runner where to come to, and waits for it; undefined when it has ended instead. */
async function meet(
  engine: DockerEngine,
  { socket }: StartedExec,
  order: string,
  met: Promise<Socket>,
): Promise<Socket | undefined> {
  const ended = new Promise<undefined>((resolve) => {
    socket.once('end', () => resolve(undefined)).once('close', () => resolve(undefined))
  })
  // By the stream and not as an argument: arguments stand in the process list for every user inside.
  socket.write(`${order}\n`)
  // Where the runner cannot be started the engine says so here; whoever runs the program instead will hear.
  socket.resume()
  try {
    return await engine.call('running a program', (signal) =>
      unlessAborted(Promise.race([met, ended]), signal),
    )
  } catch (error) {
    // A runner that has not been given its pipes starts nothing, and ends.
    socket.destroy()
    void met.then((runner) => runner.destroy())
    throw error
  }
}

/** Gives a runner its program's ends, with which it starts the program; undefined when it has gone. */
function passPipes(runner: Socket, hasInput: boolean): ProgramStreams | undefined {
  try {
    return openPipes(hasInput, (ends) => sendDescriptors(runner, ends))
  } catch (error) {
    runner.destroy()
    if (['EPIPE', 'ECONNRESET', 'EBADF'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined
    throw error
  }
}

async function startRunner(
  engine: DockerEngine,
  container: string,
  request: ExecRequest,
): Promise<StartedExec | undefined> {
  try {
    return await startExec(engine, container, {
      ...request,
      argv: [`${INSIDE}/${RUNNER}`, ...request.argv],
      stdin: true,
    })
  } catch (error) {
    const status = engineStatus(error)
    // Some engines refuse a program that cannot be run, and some start it and say so on its stream.
    if (status !== undefined && !NO_CONTAINER.includes(status)) return undefined
    throw error
  }
}

function processOf(started: StartedExec, control: RunnerControl, streams: ProgramStreams): ExecProcess {
  const { stdin, stdout, stderr } = streams
  const exitStatus = statusOf(started, control, streams)
  // Not everybody asks.
  exitStatus.catch(() => undefined)
  return {
    stdin,
    stdout,
    stderr,
    exitStatus,
    resize: () => undefined,
    signal: (name) => Promise.resolve(control.signal(name)),
    hangUp() {
      control.end()
      for (const stream of [stdin, stdout, stderr]) stream.destroy()
      return Promise.resolve()
    },
  }
}

async function statusOf(
  started: StartedExec,
  control: RunnerControl,
  { stdin, stdout, stderr }: ProgramStreams,
): Promise<ExitStatus> {
  const told = await control.ending
  // What is left of its input nobody will read, or something that it left running, which has no claim to it.
  stdin.destroy()
  // A runner that was killed said nothing: the engine knows how.
  const status = told ?? { status: await programStatus(started) }
  await Promise.all([arrived(stdout), arrived(stderr)])
  return status
}

/**
 * Waits until what a program that has ended wrote is here: at the end of the stream, or, where its children go on and
 * hold it open, when the pipe has been found empty.
 */
async function arrived(stream: Socket): Promise<void> {
  while (!stream.destroyed && !stream.readableEnded) {
    const before = stream.bytesRead
    // What the pipe holds is read between one turn of the loop and the next.
    await setImmediate()
    await setImmediate()
    if (stream.bytesRead !== before) continue
    if (stream.readableLength === 0) return
    await delay(LOOK_EVERY_MS)
  }
}
