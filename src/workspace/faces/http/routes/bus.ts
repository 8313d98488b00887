import type { Static } from 'typebox'
import type { FastifyError } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  answerFromWire,
  answerSchema,
  connectedGuestSchema,
  connectedGuestToWire,
  listenerSchema,
  listenerToWire,
  busEventSchema,
  busEventToWire,
  namespaceParams,
  watchQuerySchema,
} from '../../../api/bus.ts'
import type { SseStream } from '../../../../lib/sse/sse-stream.ts'
import type { Answer } from '../../../bus/bus.ts'
import { ListenerOutlet } from '../listener-outlet.ts'
import { respondToAll } from '../respond-lines.ts'
import { Lines, takeLines } from '../../../../lib/http/ndjson-body.ts'
import { fault } from '../../../errors.ts'
import { LAST_EVENT_ID_HEADER } from '../../../client/server-address.ts'
import type { HttpFace } from '../face.ts'

interface Named {
  readonly Params: { readonly namespace: string }
}

/** Allowance for an envelope without its payload. */
const ENVELOPE_BYTES = 64 * 1024
/** Minimum size limit for a batch of answers. */
const LINES_BYTES = 1024 * 1024

/** Registers the host side of the bus: listen to a namespace, answer, and list listeners and workspaces. */
export function busRoutes({ app, openStream }: HttpServer, face: HttpFace): void {
  const { bus, cluster } = face
  const guard = { onRequest: face.gate.admitListener }
  app.get(
    '/api/plugins/listeners',
    {
      ...guard,
      schema: {
        summary: 'List namespaces that have a listener',
        response: { 200: Type.Object({ listeners: Type.Array(listenerSchema) }) },
      },
    },
    () => ({ listeners: cluster.listeners().map(listenerToWire) }),
  )

  app.get<Named>(
    '/api/plugins/listeners/:namespace/messages',
    {
      ...guard,
      // A HEAD request would take the namespace and never end.
      exposeHeadRoute: false,
      config: { hasEffect: true },
      schema: {
        summary: 'Listen to a namespace',
        params: namespaceParams,
        description:
          'Streams the messages of all workspaces as server-sent events `message`, each an envelope. A namespace has one listener; ' +
          'it is released when the stream ends or when its reader is too slow or disconnects. A listener that reconnects sends the ' +
          'ID of the last event it received as `Last-Event-ID`, or else the value of the header `Workspace-Last-Event-Id`; unanswered ' +
          'requests that it has not received are then sent again.',
        response: {
          200: {
            description: 'data of `message` events',
            content: { 'text/event-stream': { schema: Type.Ref('Envelope') } },
          },
        },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params
      let stream: SseStream | undefined
      let outlet: ListenerOutlet | undefined
      // Listen before opening the stream, while the request can still be refused. Until then messages wait.
      const unsubscribe = await cluster.listen(
        namespace,
        {
          hasRoom: () => outlet?.hasRoom() === true,
          deliver: (message) => outlet?.deliver(message),
        },
        () => stream?.end(),
      )
      if (reply.raw.destroyed) return unsubscribe()
      const session = bus.sessions.open(namespace, request.headers['last-event-id']?.toString())
      reply.raw.setHeader(LAST_EVENT_ID_HEADER, session.lastEventId)
      stream = openStream(reply)
      stream.dropWhenStalled(face.config.bus.requestTimeoutMs)
      void stream.closed.then(() => {
        session.close()
        return unsubscribe()
      })
      outlet = new ListenerOutlet({ bus, namespace, session, stream })
      outlet.sendWaiting()
    },
  )

  app.get<{ readonly Querystring: Static<typeof watchQuerySchema> }>(
    '/api/plugins/messages',
    {
      ...guard,
      exposeHeadRoute: false,
      schema: {
        summary: 'Watch the bus',
        description:
          'Streams all messages as server-sent events `message`, including those that were lost and why. Listeners are not affected. ' +
          'Payloads are included on request, without values whose namespace or key marks them as secret.',
        querystring: watchQuerySchema,
        response: {
          200: {
            description: 'data of `message` events',
            content: { 'text/event-stream': { schema: busEventSchema } },
          },
        },
      },
    },
    (request, reply) => {
      const { namespace, payloads: withPayloads = false } = request.query
      const stream = openStream(reply)
      const unsubscribe = bus.watch((event) => {
        if (namespace === undefined || event.envelope.namespace === namespace)
          stream.send(busEventToWire(event, withPayloads), 'message')
      })
      void stream.closed.then(unsubscribe)
    },
  )

  void app.register((scope, _options, done) => {
    takeLines(scope)
    scope.setErrorHandler((error: FastifyError) => {
      throw toBodyFault(error)
    })
    respondRoute(scope, face, guard)
    done()
  })

  app.get(
    '/api/plugins/workspaces',
    {
      ...guard,
      schema: {
        summary: 'List workspaces connected to the bus',
        response: { 200: Type.Object({ workspaces: Type.Array(connectedGuestSchema) }) },
      },
    },
    async () => ({ workspaces: (await cluster.workspaces()).map(connectedGuestToWire) }),
  )
}

/** Maps body errors to the bus's own code. The server's error handler sends the result. */
function toBodyFault(error: FastifyError): Error {
  const isBodyFault = isFault(error) ? error.code === 'INVALID_REQUEST' : error.statusCode === 400
  return isBodyFault ? fault('INVALID_BODY', error.message, error) : error
}

function respondRoute(app: HttpServer['app'], { bus, cluster, config }: HttpFace, guard: object): void {
  const respond = (namespace: string, answer: Answer): Promise<void> => {
    const { workspaceName, inReplyTo: id, isFinal } = answer
    if (isFinal) bus.sessions.answered(namespace, { workspace: workspaceName, id })
    return cluster.respond(namespace, answer)
  }
  app.post<Named>(
    '/api/plugins/listeners/:namespace/respond',
    {
      ...guard,
      validatorCompiler: () => () => true,
      bodyLimit: Math.max(config.bus.maxMessageBytes, LINES_BYTES) + ENVELOPE_BYTES,
      schema: {
        summary: 'Answer a request',
        params: namespaceParams,
        body: answerSchema,
        description:
          'The body is an envelope with `workspace.name`, `in_reply_to` and `payload`. An answer is final unless `final` is false; ' +
          'answers after the final one are dropped. With `content-type: application/x-ndjson` each line is an answer: all valid ' +
          'answers are sent, and the error is that of the first rejected line.',
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params
      if (request.body instanceof Lines)
        await respondToAll((answer) => respond(namespace, answer), request.body)
      else await respond(namespace, answerFromWire(request.body))
      return reply.status(204).send(null)
    },
  )
}
