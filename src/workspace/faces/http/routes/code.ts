import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  codeBodySchema,
  codeEndToWire,
  codeFromWire,
  codeResultSchema,
  contextBodySchema,
  contextFromWire,
  contextParams,
  contextToWire,
  resultToWire,
  selectorFromWire,
  type WireCodeResult,
} from '../../../api/code.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { outputTailsToWire } from '../../../api/program.ts'
import type { CodeContexts } from '../../../code/code-contexts.ts'
import type { CodeSink } from '../../../code/code-context.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { OutputDecoder } from '../../../program/output-decoder.ts'
import { checkProgram } from '../../../program/program.ts'
import { OutputTail } from '../../../program/run-program.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { sendFailure, wantsEvents } from '../stream-progress.ts'

/** Characters of results in a response. */
const MAX_RESULTS_LENGTH = 16 * 2 ** 20
/** Length of a result beside its data. */
const RESULT_LENGTH = 64

interface Named {
  readonly Params: { readonly name: string }
}

/** Registers the routes that run code in interpreters inside workspaces. */
export function codeRoutes(
  server: HttpServer,
  { table, entrance, audit, activity }: HttpFace,
  contexts: CodeContexts,
): void {
  const { app } = server
  const contextRef = Type.Ref('CodeContext')
  app.addHook('onClose', () => contexts.close())

  app.post<Named & { readonly Body: Static<typeof codeBodySchema> }>(
    '/api/workspaces/:name/code',
    {
      schema: {
        summary: 'Run code in an interpreter inside a running workspace, which keeps its state',
        description:
          'The code is interrupted when the client disconnects. With `Accept: text/event-stream` the response is a stream of `stdout` and ' +
          '`stderr` events (`{text}`) and of `result` events, which ends with `end` (the response without output) or `error` (`{code, message}`).',
        params: workspaceParams,
        body: codeBodySchema,
        response: { 200: codeResultSchema },
      },
    },
    async (request, reply) => {
      const { body, headers } = request
      const selector = selectorFromWire(body)
      const { maxOutputBytes, ...code } = codeFromWire(body)
      const { workspace, backend } = await entrance.enter(parseWorkspaceName(request.params.name), 'conflict')
      const end = activity.begin(workspace.name)
      const gone = abortOnClose(reply)
      const subject = subjectOf(request, 'exec.run', workspace.name)
      const run = (sink: CodeSink) =>
        audit.follow(subject, () => contexts.run(backend, workspace.name, selector, { ...code, gone }, sink))
      try {
        if (!wantsEvents(headers.accept)) return await collect(run, maxOutputBytes)
        const stream = server.openStream(reply)
        try {
          await streamCode(stream, run)
        } catch (error) {
          if (gone.aborted) return reply
          sendFailure(stream, reply, 'the connection to the interpreter was lost', error)
        }
        stream.end()
        return reply
      } finally {
        end()
      }
    },
  )

  app.post<Named & { readonly Body: Static<typeof contextBodySchema> }>(
    '/api/workspaces/:name/code/contexts',
    {
      schema: {
        summary: 'Start an interpreter with a separate state in a running workspace',
        params: workspaceParams,
        body: contextBodySchema,
        response: { 201: contextRef },
      },
    },
    async (request, reply) => {
      const { body } = request
      const options = contextFromWire(body)
      checkProgram({ ...options, command: '' })
      const { workspace, backend } = await entrance.enter(parseWorkspaceName(request.params.name), 'conflict')
      activity.touch(workspace.name)
      const subject = subjectOf(request, 'process.start', workspace.name)
      const context = await audit.follow(subject, () =>
        contexts.create(backend, workspace.name, body.language, options),
      )
      return reply.status(201).send(contextToWire(context))
    },
  )

  app.get<Named>(
    '/api/workspaces/:name/code/contexts',
    {
      schema: {
        summary: 'List interpreters of a workspace, oldest first',
        params: workspaceParams,
        response: { 200: Type.Object({ contexts: Type.Array(contextRef) }) },
      },
    },
    (request) => {
      const { name } = table.get(parseWorkspaceName(request.params.name))
      return { contexts: contexts.list(name).map(contextToWire) }
    },
  )

  app.delete<{ readonly Params: { readonly name: string; readonly id: string } }>(
    '/api/workspaces/:name/code/contexts/:id',
    {
      schema: {
        summary: 'End an interpreter and the code that runs in it',
        params: contextParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name } = table.get(parseWorkspaceName(request.params.name))
      const subject = subjectOf(request, 'process.signal', name)
      await audit.follow(subject, () => contexts.delete(name, request.params.id))
      return reply.status(204).send(null)
    },
  )
}

type Run = (sink: CodeSink) => ReturnType<CodeContexts['run']>

async function collect(run: Run, maxOutputBytes: number): Promise<WireCodeResult> {
  const tails = { stdout: new OutputTail(maxOutputBytes), stderr: new OutputTail(maxOutputBytes) }
  const results: WireCodeResult['results'] = []
  let left = MAX_RESULTS_LENGTH
  let dropped = 0
  const end = await run({
    onOutput(name, chunk) {
      tails[name].add(chunk)
      return undefined
    },
    onResult(result) {
      left -= Object.values(result.data).reduce((sum, each) => sum + each.length, RESULT_LENGTH)
      if (left < 0) dropped++
      else results.push(resultToWire(result))
      return undefined
    },
  })
  return { ...codeEndToWire(end), ...outputTailsToWire(tails, 'utf8'), results, results_dropped: dropped }
}

/** Streams output and results no faster than the reader reads them. */
async function streamCode(stream: ReturnType<HttpServer['openStream']>, run: Run): Promise<void> {
  const decoder = new OutputDecoder('utf8')
  const send = (event: string, data: unknown): Promise<void> | undefined => {
    stream.send(data, event)
    return stream.hasRoom ? undefined : stream.waitForRoom()
  }
  const end = await run({
    onOutput(name, chunk) {
      const text = decoder.write(name, chunk)
      return text === '' ? undefined : send(name, { text })
    },
    onResult: (result) => send('result', resultToWire(result)),
  })
  for (const [name, text] of decoder.end()) void send(name, { text })
  void send('end', codeEndToWire(end))
}
