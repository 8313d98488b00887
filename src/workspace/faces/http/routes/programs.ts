import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import type { SseStream } from '../../../../lib/sse/sse-stream.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import {
  endToWire,
  execBodySchema,
  execFromWire,
  execResultSchema,
  inputBodySchema,
  outputQuerySchema,
  outputSchema,
  outputTailsToWire,
  outputToWire,
  processBodySchema,
  processParams,
  processToWire,
  programFromWire,
  signalBodySchema,
} from '../../../api/program.ts'
import type { ExecProcess } from '../../../backend/backend.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { OutputDecoder } from '../../../program/output-decoder.ts'
import type { BackgroundProcess } from '../../../program/process-table.ts'
import { checkProgram, startProgram } from '../../../program/program.ts'
import { type OutputName, OutputTail, runToEnd } from '../../../program/run-program.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { sendFailure, wantsEvents } from '../stream-progress.ts'

const MAX_EVENT_BYTES = 64 * 1024

interface Named {
  readonly Params: { readonly name: string }
}
interface Numbered {
  readonly Params: { readonly name: string; readonly id: string }
}

/** Registers the route that runs a program in a workspace. */
export function execRoute(server: HttpServer, { entrance, audit, activity }: HttpFace): void {
  server.app.post<Named & { readonly Body: Static<typeof execBodySchema> }>(
    '/api/workspaces/:name/exec',
    {
      schema: {
        summary: 'Run a program in a running workspace and return its output',
        description:
          'The program gets SIGHUP when the client disconnects. With `Accept: text/event-stream` the response is a stream of `stdout` and ' +
          '`stderr` events (`{text}`) that ends with `exit` (the result without output) or `error` (`{code, message}`).',
        params: workspaceParams,
        body: execBodySchema,
        response: { 200: execResultSchema },
      },
    },
    async (request, reply) => {
      const { body } = request
      const program = programFromWire(body)
      const { maxOutputBytes, encoding, ...options } = execFromWire(body)
      checkProgram(program)
      const { workspace, backend } = await entrance.enter(parseWorkspaceName(request.params.name), 'conflict')
      const end = activity.begin(workspace.name)
      const gone = abortOnClose(reply)
      try {
        const subject = subjectOf(request, 'exec.run', workspace.name)
        const process = await audit.follow(subject, () => startProgram(backend, workspace.name, program))
        if (wantsEvents(request.headers.accept)) {
          await streamRun(server, reply, process, { ...options, gone, encoding })
          return reply
        }
        const tails = { stdout: new OutputTail(maxOutputBytes), stderr: new OutputTail(maxOutputBytes) }
        const ended = await runToEnd(process, { ...options, gone }, (name, chunk) => {
          tails[name].add(chunk)
        })
        return { ...endToWire(ended), ...outputTailsToWire(tails, encoding) }
      } finally {
        end()
      }
    },
  )
}

/** Streams a program's output no faster than the reader reads it. */
async function streamRun(
  server: HttpServer,
  reply: FastifyReply,
  process: ExecProcess,
  { encoding, ...options }: Parameters<typeof runToEnd>[1] & { readonly encoding: 'utf8' | 'base64' },
): Promise<void> {
  const stream = server.openStream(reply)
  const decoder = new OutputDecoder(encoding)
  const send = (name: OutputName, text: string): void => {
    if (text !== '') stream.send({ text }, name)
  }
  try {
    const ended = await runToEnd(process, options, (name, chunk) => {
      send(name, decoder.write(name, chunk))
      return stream.hasRoom ? undefined : stream.waitForRoom()
    })
    for (const [name, text] of decoder.end()) send(name, text)
    stream.send(endToWire(ended), 'exit')
  } catch (error) {
    if (options.gone.aborted) return
    sendFailure(stream, reply, 'the connection to the program was lost', error)
  }
  stream.end()
}

/** Registers the routes for programs in the background of workspaces. */
export function processRoutes(
  server: HttpServer,
  { table, entrance, audit, activity, processes }: HttpFace,
): void {
  const { app } = server
  const processRef = Type.Ref('Process')
  /** Returns the existing workspace's name. */
  const nameOf = (name: string): string => table.get(parseWorkspaceName(name)).name

  app.post<Named & { readonly Body: Static<typeof processBodySchema> }>(
    '/api/workspaces/:name/processes',
    {
      schema: {
        summary: 'Start a program in the background of a running workspace',
        description:
          'It runs until it ends, its workspace stops or the server stops; its last mebibyte of output is kept.',
        params: workspaceParams,
        body: processBodySchema,
        response: { 201: processRef },
      },
    },
    async (request, reply) => {
      const program = programFromWire(request.body)
      checkProgram(program)
      const { workspace, backend } = await entrance.enter(parseWorkspaceName(request.params.name), 'conflict')
      activity.touch(workspace.name)
      const subject = subjectOf(request, 'process.start', workspace.name)
      const process = await audit.follow(subject, () => processes.start(backend, workspace.name, program))
      return reply.status(201).send(processToWire(process))
    },
  )

  app.get<Named>(
    '/api/workspaces/:name/processes',
    {
      schema: {
        summary: 'List background processes of a workspace, oldest first',
        params: workspaceParams,
        response: { 200: Type.Object({ processes: Type.Array(processRef) }) },
      },
    },
    (request) => ({ processes: processes.list(nameOf(request.params.name)).map(processToWire) }),
  )

  app.get<Numbered>(
    '/api/workspaces/:name/processes/:id',
    {
      schema: {
        summary: 'Get a background process',
        params: processParams,
        response: { 200: processRef },
      },
    },
    (request) => processToWire(processes.get(nameOf(request.params.name), request.params.id)),
  )

  app.get<Numbered & { readonly Querystring: Static<typeof outputQuerySchema> }>(
    '/api/workspaces/:name/processes/:id/output',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Read the output of a background process',
        description:
          'With `Accept: text/event-stream` the response is a stream of `stdout` and `stderr` events (`{text}`), of `dropped` ' +
          '(`{bytes}`) in place of output that is no longer kept, and of `exit` (the process) at the end. Event ids are positions: ' +
          'after a lost connection, `Last-Event-ID` or `after` continues the stream.',
        params: processParams,
        querystring: outputQuerySchema,
        response: { 200: outputSchema },
      },
    },
    async (request, reply) => {
      const process = processes.get(nameOf(request.params.name), request.params.id)
      const after = positionOf(request.headers['last-event-id']) ?? request.query.after ?? 0
      if (!wantsEvents(request.headers.accept))
        return outputToWire(process.output.after(after), after, process)
      const gone = abortOnClose(reply)
      await streamOutput(server.openStream(reply), process, after, gone)
      return reply
    },
  )

  app.post<Numbered & { readonly Body: Static<typeof inputBodySchema> }>(
    '/api/workspaces/:name/processes/:id/input',
    {
      schema: {
        summary: 'Write to the standard input of a background process',
        params: processParams,
        body: inputBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { text, end = false } = request.body
      const name = nameOf(request.params.name)
      activity.touch(name)
      await processes.write(name, request.params.id, text, end)
      return reply.status(204).send(null)
    },
  )

  app.post<Numbered & { readonly Body: Static<typeof signalBodySchema> }>(
    '/api/workspaces/:name/processes/:id/signal',
    {
      schema: {
        summary: 'Send a signal to a background process and its children',
        params: processParams,
        body: signalBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const name = nameOf(request.params.name)
      const subject = subjectOf(request, 'process.signal', name)
      await audit.follow(subject, () => processes.signal(name, request.params.id, request.body.signal))
      return reply.status(204).send(null)
    },
  )
}

/** Streams output from a position on until the process has ended, no faster than the reader reads it. */
async function streamOutput(
  stream: SseStream,
  process: BackgroundProcess,
  after: number,
  gone: AbortSignal,
): Promise<void> {
  const { output } = process
  let position = after
  while (!gone.aborted) {
    const { isClosed } = output
    const { entries, droppedBytes } = output.after(position, MAX_EVENT_BYTES)
    if (droppedBytes > 0) stream.sendJson(JSON.stringify({ bytes: droppedBytes }), 'dropped')
    for (const { stream: name, text, end } of entries) {
      stream.sendJson(JSON.stringify({ text }), name, String(end))
      position = end
    }
    if (entries.length === 0 && isClosed) break
    await stream.waitForRoom()
    await output.waitAfter(position, gone)
  }
  stream.send(processToWire(process), 'exit')
  stream.end()
}

/** Returns the position of the last event that a reader received, if the header is one. */
function positionOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}
