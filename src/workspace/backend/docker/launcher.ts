import type { Socket } from 'node:net'
import { constants } from 'node:os'
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
import { type StartedExec, startExec } from './start-exec.ts'

/** What the engine answers when the container cannot run any program: it is gone, or it does not run. */
const NO_CONTAINER = [404, 409]
const LOOK_EVERY_MS = 10
/** A launcher that starts nothing for so long is stuck, as in a paused container. */
const START_DEADLINE_MS = 2_000
/** How long one is kept for the next program. */
const IDLE_MS = 10 * 60_000
/** What `native/run/control.h` takes for one program. */
const MOST_REQUEST_BYTES = 2 * 2 ** 20
/** What a launcher says is shorter; what is longer somebody else says. */
const MAX_SAID_BYTES = 256

/**
 * Starts programs inside a running container as one user (`native/run/main.cc`), with pipes of ours for their standard streams, so that
 * their bytes pass the engine by. The engine starts the launcher; programs then start without the engine, a fork away.
 */
export class Launcher {
  readonly #point: MeetingPoint
  readonly #connection: Socket
  /** Called when a program is not started, by the word that its runner would have said. */
  readonly #refusals = new Map<string, () => void>()
  readonly #idle: NodeJS.Timeout
  /** When it starts nothing any more. */
  readonly closed: Promise<void>
  #said = ''

  private constructor(point: MeetingPoint, connection: Socket, started: StartedExec) {
    this.#point = point
    this.#connection = connection
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref()
    connection.unref().on('data', (chunk: Buffer) => this.#hear(chunk.toString('latin1')))
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

  /** Undefined where none can be started; throws where the engine, or the container, is gone. */
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

  /** Starts nothing any more; what runs goes on. */
  close(): void {
    this.#connection.destroy()
  }

  /** Whether a launcher can start it at all: as large a program as the kernel takes, in strings as C has them. */
  static canStart(request: ExecRequest): boolean {
    const words = wordsOf(request)
    return words.every((word) => !word.includes('\0')) && sizeOf(words) <= MOST_REQUEST_BYTES
  }

  /** Starts a program. Undefined when it was not started: the launcher is then of no more use. */
  async run(request: ExecRequest): Promise<ExecProcess | undefined> {
    if (this.isGone) return undefined
    this.#idle.refresh()
    const expected = this.#point.expect()
    const refused = Promise.withResolvers<undefined>()
    this.#refusals.set(expected.word, () => refused.resolve(undefined))
    const deadline = setTimeout(() => refused.resolve(undefined), START_DEADLINE_MS)
    try {
      const words = wordsOf(request)
      const variables = Object.keys(request.environment ?? {}).length
      this.#connection.write(
        `run ${this.#point.name} ${expected.word} ${variables} ${sizeOf(words)}\n${words.map((word) => `${word}\0`).join('')}`,
      )
      const runner = await Promise.race([expected.met, refused.promise])
      const streams = runner === undefined ? undefined : passPipes(runner, request.stdin ?? true)
      if (runner !== undefined && streams !== undefined) return processOf(new RunnerControl(runner), streams)
      // A runner that comes late starts nothing.
      void expected.met.then((late) => late.destroy())
      this.close()
      return undefined
    } finally {
      clearTimeout(deadline)
      this.#refusals.delete(expected.word)
      expected.forget()
    }
  }

  #hear(text: string): void {
    const lines = (this.#said + text).split('\n')
    this.#said = lines.pop() ?? ''
    if (this.#said.length > MAX_SAID_BYTES) this.close()
    for (const line of lines) this.#refusals.get(line.split(' ')[1] ?? '')?.()
  }
}

function wordsOf({ environment = {}, argv }: ExecRequest): readonly string[] {
  return [...Object.entries(environment).map(([name, value]) => `${name}=${value}`), ...argv]
}

function sizeOf(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0)
}

/** Tells the launcher where to come to, and waits for it; undefined when it has ended instead. */
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
  // Where the launcher cannot be started the engine says so here; whoever runs the program instead will hear.
  socket.resume()
  try {
    return await engine.call('running a program', (signal) =>
      unlessAborted(Promise.race([met, ended]), signal),
    )
  } catch (error) {
    // A launcher without a server starts nothing, and ends.
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
    // Some engines refuse a program that cannot be run, and some start it and say so on its stream.
    if (status !== undefined && !NO_CONTAINER.includes(status)) return undefined
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

function processOf(control: RunnerControl, streams: ProgramStreams): ExecProcess {
  const { stdin, stdout, stderr } = streams
  const exitStatus = statusOf(control, streams)
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
  control: RunnerControl,
  { stdin, stdout, stderr }: ProgramStreams,
): Promise<ExitStatus> {
  const told = await control.ending
  // What is left of its input nobody will read, or something that it left running, which has no claim to it.
  stdin.destroy()
  // A runner says nothing when it was killed, with the whole container or for its memory; no other signal ends it.
  const status = told ?? { status: 128 + constants.signals.SIGKILL }
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
