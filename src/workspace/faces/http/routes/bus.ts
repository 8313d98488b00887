import type { Static } from 'typebox'
import type { FastifyError, FastifyRequest } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { createTokenRule } from '../../../../lib/http/token-rule.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  answerFromWire,
  answerSchema,
  connectedGuestSchema,
  connectedGuestToWire,
  listenerSchema,
  listenerToWire,
  messageToJson,
  busEventSchema,
  busEventToWire,
  namespaceParams,
  watchQuerySchema,
} from '../../../api/bus.ts'
import type { GuestMessage } from '../../../bus/guest-message.ts'
import { respondToAll } from '../respond-lines.ts'
import { Lines, takeLines } from '../../../../lib/http/ndjson-body.ts'
import { fault } from '../../../errors.ts'
import { BUS_TOKEN_HEADER } from '../../../client/server-address.ts'
import type { HttpFace } from '../face.ts'

interface Named {
  readonly Params: { readonly namespace: string }
}

const failures = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
/** Allowance for an envelope without its payload. */
const ENVELOPE_BYTES = 64 * 1024
/** Minimum size limit for a batch of answers. */
const LINES_BYTES = 1024 * 1024

/** Registers the host side of the bus: listen to a namespace, answer, and list listeners and workspaces. */
export function busRoutes({ app, openStream }: HttpServer, face: HttpFace): void {
  const { bus, cluster } = face
  const { token } = face.config.bus
  const checkToken = token === undefined ? undefined : createTokenRule(token, BUS_TOKEN_HEADER)
  const guard = {
    onRequest(request: FastifyRequest, _reply: unknown, done: () => void) {
      checkToken?.(request.raw)
      done()
    },
  }
  app.get(
    '/api/plugins/listeners',
    {
      ...guard,
      schema: {
        summary: 'List namespaces that have a listener',
        response: { 200: Type.Object({ listeners: Type.Array(listenerSchema) }), ...failures },
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
          'it is released when the stream ends or when its reader is too slow or disconnects.',
        response: {
          200: {
            description: 'data of `message` events',
            content: { 'text/event-stream': { schema: Type.Ref('Envelope') } },
          },
          ...failures,
        },
      },
    },
    async (request, reply) => {
      let stream: ReturnType<typeof openStream> | undefined
      const waiting: GuestMessage[] = []
      // Listen before opening the stream, while the request can still be refused.
      const unsubscribe = await cluster.listen(
        request.params.namespace,
        (message) => {
          if (stream === undefined) waiting.push(message)
          else stream.sendJson(messageToJson(message), 'message')
        },
        () => stream?.end(),
      )
      if (reply.raw.destroyed) return unsubscribe()
      stream = openStream(reply)
      void stream.closed.then(unsubscribe)
      for (const message of waiting) stream.sendJson(messageToJson(message), 'message')
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
          ...failures,
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
        response: { 200: Type.Object({ workspaces: Type.Array(connectedGuestSchema) }), ...failures },
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

function respondRoute(app: HttpServer['app'], { cluster, config }: HttpFace, guard: object): void {
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
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const { namespace } = request.params
      if (request.body instanceof Lines) await respondToAll(cluster, namespace, request.body)
      else await cluster.respond(namespace, answerFromWire(request.body))
      return reply.status(204).send(null)
    },
  )
}
