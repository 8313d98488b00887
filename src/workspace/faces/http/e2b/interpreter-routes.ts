import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import {
  contextFromE2b,
  contextsToE2b,
  contextToE2b,
  countLine,
  END_LINE,
  errorLine,
  executeSchema,
  isDefaultContext,
  KEEPALIVE_LINE,
  languageFromWire,
  newContextSchema,
  outputLine,
  refuseUnknown,
  resultLine,
} from '../../../api/e2b-code.ts'
import { checkEnvironment } from '../../../arguments.ts'
import type { Backend } from '../../../backend/backend.ts'
import type { CodeSink } from '../../../code/code-context.ts'
import { OutputDecoder } from '../../../program/output-decoder.ts'
import { checkProgram } from '../../../program/program.ts'
import { subjectOf } from '../audit-subject.ts'
import { HIDDEN, OWN_ADMISSION } from './connect-service.ts'
import { checkMessage } from './connect-stream.ts'
import { PacedResponse } from './paced-response.ts'
import type { E2bParts, SandboxEntrance } from './sandbox-request.ts'

/** As often as E2B's own server sends something. */
const KEEPALIVE_MS = 5_000
/** Name of the error that E2B's SDKs know for an interpreter that ended. */
const UNEXPECTED_END = 'UnexpectedEndOfExecution'
const NOTHING = 'null'
/** Looks at a workspace whose interpreter ended, and the time between them. */
const [END_LOOKS, END_LOOK_MS] = [5, 100] as const

interface Numbered {
  readonly Params: { readonly id: string }
}

/**
 * Registers the routes of E2B's code interpreter, for whose clients a sandbox has the interpreters of `code/`. Its
 * SDKs send the sandbox's token only with code, and the token for ports with everything.
 */
export function interpreterRoutes(
  scope: FastifyInstance,
  { face, contexts }: E2bParts,
  entrance: SandboxEntrance,
): void {
  const { audit, activity } = face
  const streams = new Set<PacedResponse>()
  // Before the body is read.
  const options = (by?: 'traffic') => ({
    config: OWN_ADMISSION,
    schema: HIDDEN,
    exposeHeadRoute: false,
    onRequest: async (request: FastifyRequest) => void entrance.admit(request, by),
  })
  // Fastify waits for all responses before it closes.
  scope.addHook('preClose', (done) => {
    for (const stream of streams) stream.cut()
    done()
  })

  scope.post('/execute', options(), async (request, reply) => {
    const message = checkMessage(request.body ?? {}, executeSchema)
    refuseUnknown(message, executeSchema)
    const selector = contextFromE2b(message)
    const { code, env_vars: variables } = message
    const environment = variables ?? {}
    checkEnvironment(environment)
    const { name, backend } = await entrance.enter(request)
    const end = activity.begin(name)
    try {
      const gone = abortOnClose(reply)
      const run = await contexts.open(backend, name, selector)
      const stream = new PacedResponse(reply, {
        contentType: 'application/json',
        ping: KEEPALIVE_LINE,
        pingMs: KEEPALIVE_MS,
      })
      streams.add(stream)
      try {
        const subject = subjectOf(request, 'exec.run', name)
        await streamRun(stream, (sink) =>
          audit.follow(subject, () =>
            run({ code, timeoutMs: undefined, environment, hasTables: true, gone }, sink),
          ),
        )
      } catch (error) {
        if (gone.aborted) return reply
        // The SDKs then ask whether the sandbox still runs.
        if (await staysRunning(backend, name)) sendFailure(stream, reply, error)
        else stream.cut()
      } finally {
        streams.delete(stream)
      }
      return reply
    } finally {
      end()
    }
  })

  scope.post('/contexts', options('traffic'), async (request) => {
    const message = checkMessage(request.body ?? {}, newContextSchema)
    refuseUnknown(message, newContextSchema)
    const language = languageFromWire(message.language)
    const start = { directory: message.cwd || undefined, environment: {}, user: undefined }
    checkProgram({ ...start, command: '' })
    const { name, backend } = await entrance.enter(request, 'traffic')
    const subject = subjectOf(request, 'process.start', name)
    return contextToE2b(await audit.follow(subject, () => contexts.create(backend, name, language, start)))
  })

  scope.get('/contexts', options('traffic'), async (request) => {
    const { name } = await entrance.enter(request, 'traffic')
    return contextsToE2b(contexts.list(name))
  })

  scope.post<Numbered>('/contexts/:id/restart', options('traffic'), async (request, reply) => {
    const { id } = request.params
    const { name, backend } = await entrance.enter(request, 'traffic')
    void reply.type('application/json')
    if (isUnused(name, id)) return reply.send(NOTHING)
    const subject = subjectOf(request, 'process.start', name)
    await audit.follow(subject, () => contexts.restart(backend, name, id))
    return reply.send(NOTHING)
  })

  scope.delete<Numbered>('/contexts/:id', options('traffic'), async (request, reply) => {
    const { id } = request.params
    const { name } = await entrance.enter(request, 'traffic')
    void reply.type('application/json')
    if (isUnused(name, id)) return reply.send(NOTHING)
    const subject = subjectOf(request, 'process.signal', name)
    await audit.follow(subject, () => contexts.delete(name, id))
    return reply.send(NOTHING)
  })

  /** Whether a context is a default one that has not run code. */
  function isUnused(name: string, id: string): boolean {
    return isDefaultContext(id) && !contexts.list(name).some((each) => each.id === id)
  }
}

/** Whether a workspace of which an interpreter ended runs on: one that is being deleted ends after its programs. */
async function staysRunning(backend: Backend, name: string): Promise<boolean> {
  for (let look = 0; look < END_LOOKS; look++) {
    if (look > 0) await delay(END_LOOK_MS)
    const found = await backend.find(name).catch(ignore('a workspace that cannot be found does not run on'))
    if (found?.state.is !== 'running') return false
  }
  return true
}

/** Streams what code produces, no faster than the reader reads it, and its end. */
async function streamRun(
  stream: PacedResponse,
  run: (sink: CodeSink) => Promise<{ readonly error: Parameters<typeof errorLine>[0] | null }>,
): Promise<void> {
  const decoder = new OutputDecoder('utf8')
  const { error } = await run({
    onStart: (executionCount) => void stream.send(countLine(executionCount)),
    onOutput(name, chunk) {
      const text = decoder.write(name, chunk)
      return text === '' ? undefined : stream.send(outputLine(name, text))
    },
    onResult: (result) => stream.send(resultLine(result)),
  })
  for (const [name, text] of decoder.end()) void stream.send(outputLine(name, text))
  if (error !== null) void stream.send(errorLine(error))
  stream.end(END_LINE)
}

/** Ends a stream with an error that is not one of the code; of an unexpected one, which is logged, only what happened. */
function sendFailure(stream: PacedResponse, reply: FastifyReply, error: unknown): void {
  if (!isFault(error)) reply.log.error({ err: error }, 'a run of code failed')
  const name = isFault(error) && error.code !== 'CONTEXT_ENDED' ? error.code : UNEXPECTED_END
  const value = isFault(error)
    ? error.message
    : 'the connection to the interpreter was lost; see the server log'
  void stream.send(errorLine({ name, value, traceback: '' }))
  stream.end(END_LINE)
}
