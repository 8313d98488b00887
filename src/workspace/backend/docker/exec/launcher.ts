import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { unlessAborted } from '../../../../lib/process/unless-aborted.ts'
import { sendDescriptors } from '../../../../native/programs/pipe.ts'
import { RUNNER } from '../../../../native/programs/runner.ts'
import type { ExecProcess, ExecRequest, ExitStatus } from '../../backend.ts'
import { type DockerEngine, engineStatus } from '../engine/engine.ts'
import { INSIDE } from './inside-dirs.ts'
import type { MeetingPoint } from './meeting-point.ts'
import { openPipes, type ProgramStreams } from './program-pipes.ts'
import { RunnerControl } from './runner-control.ts'
import { type StartedExec, startExec } from './start-exec.ts'

/** Engine statuses for a container that does not exist or is not running: it cannot run any program. */
const NO_CONTAINER = [404, 409]
const LOOK_EVERY_MS = 10
/** A launcher that does not start a program within this time is stuck, for example in a paused container. */
const START_DEADLINE_MS = 2_000
/** How long an unused launcher is kept. */
const IDLE_MS = 10 * 60_000
/** Limit of `native/run/control.h` for one request. */
const MOST_REQUEST_BYTES = 2 * 2 ** 20
/** Longer lines do not come from a launcher. */
const MAX_REPLY_BYTES = 256

/** A program to start, as a launcher reads it. */
export interface LauncherRequest {
  readonly hasInput: boolean
  readonly variables: number
  /** Environment and arguments, each terminated by a zero byte. */
  readonly words: string
  readonly bytes: number
}

/**
 * Encodes a request for a launcher. Returns undefined when a launcher cannot accept it: not C strings, or
 * beyond the kernel's usual size limit.
 */
export function encodeRequest({
  environment = {},
  argv,
  stdin = true,
}: ExecRequest): LauncherRequest | undefined {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  const words = [...variables, ...argv]
  if (words.some((word) => word.includes('\0'))) return undefined
  const text = `${words.join('\0')}\0`
  const bytes = Buffer.byteLength(text)
  if (bytes > MOST_REQUEST_BYTES) return undefined
  return { hasInput: stdin, variables: variables.length, words: text, bytes }
}

/**
 * Starts programs inside a running container as one user (`native/run/main.cc`). The engine starts the launcher once; each program is then a
 * fork away, with standard streams that bypass the engine. See DESIGN.md.
 */
export class Launcher {
  readonly #point: MeetingPoint
  readonly #connection: Socket
  /** Callbacks for programs that were not started, by the token of their runner. */
  readonly #refusals = new Map<string, () => void>()
  readonly #idle: NodeJS.Timeout
  /** Resolves when the launcher accepts no more programs. */
  readonly closed: Promise<void>
  #unread = ''

  private constructor(point: MeetingPoint, connection: Socket, started: StartedExec) {
    this.#point = point
    this.#connection = connection
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref()
    connection.unref().on('data', (chunk: Buffer) => this.#parse(chunk.toString('latin1')))
    connection.on('error', () => undefined)
    this.closed = new Promise((resolve) => {
      connection.once('close', () => {
        clearTimeout(this.#idle)
        started.socket.destroy()
        for (const refuse of this.#refusals.values()) refuse()
        resolve()
      })
    })
  }

  /**
   * Starts a launcher; resolves to undefined where that is not possible.
   *
   * @throws BACKEND_UNAVAILABLE, BACKEND_ERROR when the engine or the container is not available
   */
  static async start(
    engine: DockerEngine,
    container: string,
    point: MeetingPoint,
    user: string | undefined,
  ): Promise<Launcher | undefined> {
    const expected = point.expect()
    try {
      const started = await startOrRefuse(engine, container, user)
      if (started === undefined) return undefined
      const connection = await meet(engine, started, `meet ${point.name} ${expected.word}`, expected.met)
      if (connection !== undefined) return new Launcher(point, connection, started)
      started.socket.destroy()
      return undefined
    } finally {
      expected.forget()
    }
  }

  get isGone(): boolean {
    return this.#connection.destroyed || !this.#connection.writable
  }

  /** Accepts no more programs; running ones continue. */
  close(): void {
    this.#connection.destroy()
  }

  /** Starts a program. Returns undefined if it was not started; the launcher is then closed. */
  async run({ hasInput, variables, words, bytes }: LauncherRequest): Promise<ExecProcess | undefined> {
    if (this.isGone) return undefined
    this.#idle.refresh()
    const expected = this.#point.expect()
    const refused = Promise.withResolvers<undefined>()
    this.#refusals.set(expected.word, () => refused.resolve(undefined))
    const deadline = setTimeout(() => refused.resolve(undefined), START_DEADLINE_MS)
    try {
      this.#connection.write(`run ${this.#point.name} ${expected.word} ${variables} ${bytes}\n${words}`)
      const runner = await Promise.race([expected.met, refused.promise])
      const streams = runner === undefined ? undefined : passPipes(runner, hasInput)
      if (runner !== undefined && streams !== undefined) return processOf(new RunnerControl(runner), streams)
      // A runner that connects late does not start its program.
      void expected.met.then((late) => late.destroy())
      this.close()
      return undefined
    } finally {
      clearTimeout(deadline)
      this.#refusals.delete(expected.word)
      expected.forget()
    }
  }

  #parse(text: string): void {
    const lines = (this.#unread + text).split('\n')
    this.#unread = lines.pop() ?? ''
    if (this.#unread.length > MAX_REPLY_BYTES) this.close()
    for (const line of lines) this.#refusals.get(line.split(' ')[1] ?? '')?.()
  }
}

/** Sends the launcher the socket's name and waits for its connection. Returns undefined if it exits instead. */
async function meet(
  engine: DockerEngine,
  { socket }: StartedExec,
  order: string,
  met: Promise<Socket>,
): Promise<Socket | undefined> {
  const ended = new Promise<undefined>((resolve) => {
    socket.once('end', () => resolve(undefined)).once('close', () => resolve(undefined))
  })
  // Sent over the stream: every user in the container can read arguments in the process list.
  socket.write(`${order}\n`)
  // Discards the engine's error message: running the program without a launcher reports the same error.
  socket.resume()
  try {
    return await engine.call('running a program', (signal) =>
      unlessAborted(Promise.race([met, ended]), signal),
    )
  } catch (error) {
    // A launcher without a connection exits.
    socket.destroy()
    void met.then((launcher) => launcher.destroy())
    throw error
  }
}

async function startOrRefuse(
  engine: DockerEngine,
  container: string,
  user: string | undefined,
): Promise<StartedExec | undefined> {
  try {
    return await startExec(engine, container, {
      argv: [`${INSIDE}/${RUNNER}`],
      ...(user !== undefined && { user }),
    })
  } catch (error) {
    const status = engineStatus(error)
    // For a program that cannot be run some engines fail the request, and others report the error on its stream.
    if (status !== undefined && !NO_CONTAINER.includes(status)) return undefined
    throw error
  }
}

/** Sends a runner its program's ends of the pipes, which starts the program. Returns undefined if the runner has exited. */
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

function processOf(control: RunnerControl, streams: ProgramStreams): ExecProcess {
  const { stdin, stdout, stderr } = streams
  const exitStatus = statusOf(control, streams)
  // Not every caller awaits it.
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
  control: RunnerControl,
  { stdin, stdout, stderr }: ProgramStreams,
): Promise<ExitStatus> {
  const told = await control.ending
  // Nobody reads the rest of its input, except perhaps a background child, which has no claim to it.
  stdin.destroy()
  // A runner reports nothing if it was killed, by the container's end or the OOM killer; it blocks every other signal.
  const status = told ?? { status: 128 + constants.signals.SIGKILL }
  await Promise.all([arrived(stdout), arrived(stderr)])
  return status
}

/**
 * Waits until the output of an exited program has arrived: at the end of the stream, or, when its children
 * keep the pipe open, once the pipe has been found empty.
 */
async function arrived(stream: Socket): Promise<void> {
  while (!stream.destroyed && !stream.readableEnded) {
    const before = stream.bytesRead
    // The event loop reads the pipe's content between these two turns.
    await setImmediate()
    await setImmediate()
    if (stream.bytesRead !== before) continue
    if (stream.readableLength === 0) return
    await delay(LOOK_EVERY_MS)
  }
}
