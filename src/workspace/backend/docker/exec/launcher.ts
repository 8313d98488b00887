import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { arrived } from '../../../../lib/process/descriptor-stream.ts'
import { unlessAborted } from '../../../../lib/process/unless-aborted.ts'
import { sendDescriptors } from '../../../../native/programs/pipe.ts'
import { RUNNER } from '../../../../native/programs/runner.ts'
import type { ExecProcess, ExecRequest, ExitStatus } from '../../backend.ts'
import { type DockerEngine, engineStatus } from '../engine/engine.ts'
import { MOUNT_POINT } from './mounted-socket-dirs.ts'
import type { RunnerSocket } from './runner-socket.ts'
import { openPipes, type ProgramStreams } from './program-pipes.ts'
import { RunnerControl } from './runner-control.ts'
import { type StartedExec, startExec } from './start-exec.ts'

/** Engine statuses for a container that does not exist or is not running: it cannot run any program. */
const NO_CONTAINER = [404, 409]
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
  readonly strings: string
  readonly bytes: number
}

/**
 * Encodes a request for a launcher. Returns undefined when a launcher cannot accept it: not C strings, beyond the kernel's
 * usual size limit, or in another directory.
 */
export function encodeRequest({
  environment = {},
  argv,
  stdin = true,
  directory,
}: ExecRequest): LauncherRequest | undefined {
  if (directory !== undefined) return undefined
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  const strings = [...variables, ...argv]
  if (strings.some((each) => each.includes('\0'))) return undefined
  const text = `${strings.join('\0')}\0`
  const bytes = Buffer.byteLength(text)
  if (bytes > MOST_REQUEST_BYTES) return undefined
  return { hasInput: stdin, variables: variables.length, strings: text, bytes }
}

/**
 * Starts programs inside a running container as one user (`native/run/main.cc`). The engine starts the launcher once; each program is then a
 * fork away, with standard streams that bypass the engine. See DESIGN.md.
 */
export class Launcher {
  readonly #runnerSocket: RunnerSocket
  readonly #connection: Socket
  /** Callbacks for programs that were not started, by the token of their runner. */
  readonly #refusals = new Map<string, () => void>()
  readonly #idle: NodeJS.Timeout
  /** Resolves when the launcher accepts no more programs. */
  readonly closed: Promise<void>
  #unread = ''

  private constructor(runnerSocket: RunnerSocket, connection: Socket, started: StartedExec) {
    this.#runnerSocket = runnerSocket
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
    runnerSocket: RunnerSocket,
    user: string | undefined,
  ): Promise<Launcher | undefined> {
    const expected = runnerSocket.expect()
    try {
      const started = await startOrRefuse(engine, container, user)
      if (started === undefined) return undefined
      const connection = await meet(
        engine,
        started,
        `meet ${runnerSocket.name} ${expected.token}`,
        expected.connected,
      )
      if (connection !== undefined) return new Launcher(runnerSocket, connection, started)
      started.socket.destroy()
      return undefined
    } finally {
      expected.forget()
    }
  }

  get isClosed(): boolean {
    return this.#connection.destroyed || !this.#connection.writable
  }

  /** Accepts no more programs; running ones continue. */
  close(): void {
    this.#connection.destroy()
  }

  /** Starts a program. Returns undefined if it was not started; the launcher is then closed. */
  async run({ hasInput, variables, strings, bytes }: LauncherRequest): Promise<ExecProcess | undefined> {
    if (this.isClosed) return undefined
    this.#idle.refresh()
    const expected = this.#runnerSocket.expect()
    const refused = Promise.withResolvers<undefined>()
    this.#refusals.set(expected.token, () => refused.resolve(undefined))
    const deadline = setTimeout(() => refused.resolve(undefined), START_DEADLINE_MS)
    try {
      this.#connection.write(
        `run ${this.#runnerSocket.name} ${expected.token} ${variables} ${bytes}\n${strings}`,
      )
      const runner = await Promise.race([expected.connected, refused.promise])
      const streams = runner === undefined ? undefined : passPipes(runner, hasInput)
      if (runner !== undefined && streams !== undefined) return processOf(new RunnerControl(runner), streams)
      // A runner that connects late does not start its program.
      void expected.connected.then((late) => late.destroy())
      this.close()
      return undefined
    } finally {
      clearTimeout(deadline)
      this.#refusals.delete(expected.token)
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
  command: string,
  met: Promise<Socket>,
): Promise<Socket | undefined> {
  const ended = new Promise<undefined>((resolve) => {
    socket.once('end', () => resolve(undefined)).once('close', () => resolve(undefined))
  })
  // Sent over the stream: every user in the container can read arguments in the process list.
  socket.write(`${command}\n`)
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
      argv: [`${MOUNT_POINT}/${RUNNER}`],
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
  exitStatus.catch(ignore('not every caller awaits it'))
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
  const reported = await control.ending
  // Nobody reads the rest of its input, except perhaps a background child, which has no claim to it.
  stdin.destroy()
  // A runner reports nothing if it was killed, by the container's end or the OOM killer; it blocks every other signal.
  const status = reported ?? { status: 128 + constants.signals.SIGKILL }
  await Promise.all([arrived(stdout), arrived(stderr)])
  return status
}
