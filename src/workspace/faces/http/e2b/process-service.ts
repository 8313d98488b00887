import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import { processMessages, type WireInput, type WireSelector, type WireTerminal } from '../../../api/e2b.ts'
import { fault } from '../../../errors.ts'
import type {
  LiveProgram,
  LiveProgramEnd,
  LiveProgramRequest,
  LivePrograms,
  ProgramFollower,
  ProgramSelector,
} from '../../../program/live-programs.ts'
import { shownPath } from '../../../path-text.ts'
import { checkProgram } from '../../../program/program.ts'
import { subjectOf } from '../audit-subject.ts'
import { limitSilence } from '../end-upload.ts'
import type { HttpFace } from '../face.ts'
import { ConnectService, type StreamCall } from './connect-service.ts'
import { type ConnectStream, readMessages } from './connect-stream.ts'
import { type SandboxEntrance, userOf } from './sandbox-request.ts'

const PING = { event: { keepalive: {} } }
/** Time without input after which a stream of input is closed. */
const INPUT_SILENCE_MS = 120_000
const DEFAULT_TERMINAL = { cols: 80, rows: 24 }
const SIGNALS = { SIGNAL_SIGTERM: 'SIGTERM', SIGNAL_SIGKILL: 'SIGKILL', 15: 'SIGTERM', 9: 'SIGKILL' } as const

type StartMessage = Static<typeof processMessages.start>

/** Registers `process.Process`: programs in sandboxes, which run on when their client disconnects. */
export function processService(
  scope: FastifyInstance,
  { audit }: HttpFace,
  entrance: SandboxEntrance,
  programs: LivePrograms,
): void {
  const service = new ConnectService(scope, 'process.Process')

  service.unary('List', processMessages.list, async (_message, request) => {
    const { name } = await entrance.enter(request)
    return { processes: programs.list(name).map(infoToWire) }
  })

  service.stream('Start', processMessages.start, PING, async (call) => {
    const { message, request, timeoutMs } = call
    const { name, backend } = await entrance.enter(request)
    const program = { ...programFromWire(message, userOf(request)), timeoutMs }
    checkProgram(program)
    await followToEnd(call, programs, name, (follow) =>
      audit.follow(subjectOf(request, 'exec.run', name), () =>
        programs.start(backend, name, program, follow),
      ),
    )
  })

  service.stream('Connect', processMessages.select, PING, async (call) => {
    const { name } = await entrance.enter(call.request)
    const program = programs.get(name, selectorOf(call.message.process))
    await followToEnd(call, programs, name, async (follow) =>
      programs.follow(name, program.id, follow(program)),
    )
  })

  service.unary('SendInput', processMessages.sendInput, async ({ process, input }, request) => {
    const { name } = await entrance.enter(request)
    await programs.write(name, selectorOf(process), bytesOf(input))
    return {}
  })

  service.upload('StreamInput', async (body, request) => {
    const { name } = await entrance.enter(request)
    const endLimit = limitSilence(request, INPUT_SILENCE_MS)
    try {
      await writeAll(body, programs, name)
    } finally {
      endLimit()
    }
    return {}
  })

  service.unary('CloseStdin', processMessages.select, async ({ process }, request) => {
    const { name } = await entrance.enter(request)
    programs.endInput(name, selectorOf(process))
    return {}
  })

  service.unary('SendSignal', processMessages.sendSignal, async ({ process, signal }, request) => {
    const { name } = await entrance.enter(request)
    await audit.follow(subjectOf(request, 'process.signal', name), () =>
      programs.signal(name, selectorOf(process), SIGNALS[signal]),
    )
    return {}
  })

  service.unary('Update', processMessages.update, async ({ process, pty }, request) => {
    const { name } = await entrance.enter(request)
    const { columns, rows } = terminalOf(pty)
    programs.resize(name, selectorOf(process), columns, rows)
    return {}
  })
}

/** Sends a program's events until it ends, the client disconnects or its time is up. */
async function followToEnd(
  { stream, ended }: StreamCall<unknown>,
  programs: LivePrograms,
  name: string,
  begin: (follow: (program: LiveProgram) => ProgramFollower) => Promise<void>,
): Promise<void> {
  const over = Promise.withResolvers<void>()
  let followed: readonly [id: number, follower: ProgramFollower] | undefined
  await begin((program) => {
    const follower = followerFor(stream, program, over.resolve)
    followed = [program.id, follower]
    return follower
  })
  if (ended.aborted) over.resolve()
  ended.addEventListener('abort', () => over.resolve(), { once: true })
  await over.promise
  if (followed !== undefined) programs.unfollow(name, ...followed)
}

function followerFor(stream: ConnectStream, program: LiveProgram, onEnd: () => void): ProgramFollower {
  void stream.send({ event: { start: { pid: program.id } } })
  return {
    onOutput(name, chunk) {
      const output = program.terminal === undefined ? name : 'pty'
      return stream.send({ event: { data: { [output]: chunk.toString('base64') } } })
    },
    onEnd(end) {
      if (!end.hasTimedOut) void stream.send({ event: { end: endToWire(end) } })
      onEnd()
    },
  }
}

async function writeAll(body: Readable, programs: LivePrograms, name: string): Promise<void> {
  let selector: ProgramSelector | undefined
  for await (const { start, data } of readMessages(body, processMessages.streamInput)) {
    if (start !== undefined) selector = selectorOf(start.process)
    if (data === undefined) continue
    if (selector === undefined) throw fault('INVALID_REQUEST', 'input precedes the program that it is for')
    await programs.write(name, selector, bytesOf(data.input))
  }
}

function programFromWire(
  { process, pty, tag, stdin }: StartMessage,
  user: string | undefined,
): Omit<LiveProgramRequest, 'timeoutMs'> {
  return {
    command: [process.cmd, ...(process.args ?? [])],
    directory: process.cwd === '' ? undefined : process.cwd,
    environment: process.envs ?? {},
    user,
    tag,
    readsInput: pty !== undefined || stdin !== false,
    ...(pty !== undefined && { terminal: terminalOf(pty) }),
  }
}

function infoToWire({ id, tag, command, directory, environment }: LiveProgram) {
  const [cmd, ...args] = [command].flat()
  return {
    pid: id,
    ...(tag !== undefined && { tag }),
    config: { cmd, args, envs: environment, ...(directory !== undefined && { cwd: shownPath(directory) }) },
  }
}

function endToWire({ status, signal }: LiveProgramEnd) {
  const description = signal === undefined ? `exit status ${status}` : `signal: ${signal}`
  return {
    exitCode: signal === undefined ? status : -1,
    exited: signal === undefined,
    status: description,
    ...(status !== 0 && { error: description }),
  }
}

function selectorOf({ pid, tag }: WireSelector): ProgramSelector {
  return tag === undefined ? { by: 'id', id: pid ?? 0 } : { by: 'tag', tag }
}

function bytesOf(input: WireInput | undefined): Buffer {
  return Buffer.from(input?.stdin ?? input?.pty ?? '', 'base64')
}

function terminalOf(pty: WireTerminal | undefined): { readonly columns: number; readonly rows: number } {
  const { cols, rows } = { ...DEFAULT_TERMINAL, ...pty?.size }
  return { columns: Math.max(1, cols), rows: Math.max(1, rows) }
}
