import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { RUNNER } from '../../../native/runner.ts'
import type { ExecProcess, ExecRequest, ExitStatus } from '../backend.ts'
import { type DockerEngine, engineStatus } from './engine.ts'
import { INSIDE } from './inside-dirs.ts'
import { ProgramPipes, type ProgramStreams } from './program-pipes.ts'
import { RunnerControl } from './runner-control.ts'
import { programStatus, type StartedExec, startExec } from './start-exec.ts'

/** What the engine answers when the container cannot run any program: it is gone, or it does not run. */
const NO_CONTAINER = [404, 409]
const LOOK_EVERY_MS = 10

/**
 * Runs a program inside a running container with FIFOs for its standard streams, so that its bytes pass the engine by.
 * Undefined where that cannot be done; the program has then not been started.
 */
export async function execDirectly(
  engine: DockerEngine,
  container: string,
  directory: string,
  request: ExecRequest,
): Promise<ExecProcess | undefined> {
  const hasInput = request.stdin ?? true
  const pipes = openPipes(directory, hasInput)
  if (pipes === undefined) return undefined
  try {
    const started = await startRunner(engine, container, request)
    if (started === undefined) return undefined
    const control = new RunnerControl(started.socket)
    try {
      // By the stream and not as an argument: arguments stand in the process list for every user inside.
      control.say(`open ${pipes.id} ${hasInput ? 1 : 0}`)
      if (!(await engine.call('running a program', (signal) => settled(control.isReady, signal)))) {
        control.destroy()
        return undefined
      }
      const streams = pipes.open()
      control.say('go')
      return processOf(started, control, streams)
    } catch (error) {
      // What has not been told to go has started nothing, and ends.
      control.destroy()
      if ((error as NodeJS.ErrnoException).code === 'ENXIO') return undefined
      throw error
    }
  } finally {
    pipes.discard()
  }
}

function openPipes(directory: string, hasInput: boolean): ProgramPipes | undefined {
  try {
    return new ProgramPipes(directory, hasInput)
  } catch (error) {
    // No descriptor left is told as always, by whatever needs the next one.
    if (
      ['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes((error as NodeJS.ErrnoException).code ?? '')
    )
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
    signal: (name) => Promise.resolve(control.say(`signal ${constants.signals[name]}`)),
    hangUp() {
      control.say(`signal ${constants.signals.SIGHUP}`)
      control.end()
      for (const stream of [stdin, stdout, stderr]) stream.destroy()
      return Promise.resolve()
    },
  }
}

async function statusOf(
  started: StartedExec,
  control: RunnerControl,
  { stdout, stderr }: ProgramStreams,
): Promise<ExitStatus> {
  // A runner that was killed said nothing: the engine knows how.
  const status = (await control.ending) ?? { status: await programStatus(started) }
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

/** A promise given up when a signal says so. */
function settled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', giveUp, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
