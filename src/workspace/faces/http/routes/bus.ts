import type { FastifyError, FastifyRequest } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { createTokenRule } from '../../../../lib/http/token-rule.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  answerFromWire,
  connectedGuestSchema,
  connectedGuestToWire,
  listenerSchema,
  listenerToWire,
  messageToJson,
  newsSchema,
  newsToWire,
} from '../../../api/bus.ts'
import type { GuestMessage } from '../../../bus/guest-message.ts'
import { respondToAll } from '../respond-lines.ts'
import { Lines, takeLines } from '../../../../lib/http/ndjson-body.ts'
import { fault } from '../../../errors.ts'
import { BUS_TOKEN_HEADER } from '../../../client/server-address.ts'
import type { HttpFace } from '../face.ts'
import { parseFlag } from '../parse-flag.ts'

interface Named {
  readonly Params: { readonly namespace: string }
}

const failures = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
/** What an envelope has beside its payload. */
const ENVELOPE_BYTES = 64 * 1024
/** What many answers may take together, however short each has to be. */
const LINES_BYTES = 1024 * 1024

/** The host's side of the bus: listen to a namespace, answer, and see who is there. */
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
        summary: 'Namespaces that are listened to',
        response: { 200: Type.Object({ listeners: Type.Array(listenerSchema) }), ...failures },
      },
    },
    () => ({ listeners: cluster.listeners().map(listenerToWire) }),
  )

  app.get<Named>(
    '/api/plugins/listeners/:namespace/messages',
    {
      ...guard,
      // It takes the namespace, and the answer to HEAD would never end.
      exposeHeadRoute: false,
      config: { hasEffect: true },
      schema: {
        summary: 'Listen to a namespace: a stream of the messages of all workspaces',
        description:
          'Server-sent events `message`, each an envelope. One listener a namespace; it is free again when the stream ends, ' +
          'and when its reader reads too slowly or is gone.',
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
      // Before there is a stream it can be refused.
      const leave = await cluster.listen(
        request.params.namespace,
        (message) => {
          if (stream === undefined) waiting.push(message)
          else stream.sendJson(messageToJson(message), 'message')
        },
        () => stream?.end(),
      )
      if (reply.raw.destroyed) return leave()
      stream = openStream(reply)
      void stream.closed.then(leave)
      for (const message of waiting) stream.sendJson(messageToJson(message), 'message')
    },
  )

  app.get<{ readonly Querystring: { readonly namespace?: string; readonly payloads?: string } }>(
    '/api/plugins/messages',
    {
      ...guard,
      exposeHeadRoute: false,
      schema: {
        summary: 'Watch the bus: a stream of what passes',
        description:
          'Server-sent events `message`. Takes nothing from listeners, and tells what was lost, and why. Payloads come only where asked for, ' +
          'and without what is a secret by its namespace or its name.',
        querystring: Type.Object({
          namespace: Type.Optional(Type.String({ description: 'only messages of this one' })),
          payloads: Type.Optional(Type.String({ description: 'with payloads; default false' })),
        }),
        response: {
          200: {
            description: 'data of `message` events',
            content: { 'text/event-stream': { schema: newsSchema } },
          },
          ...failures,
        },
      },
    },
    (request, reply) => {
      const { namespace } = request.query
      const withPayloads = parseFlag('payloads', request.query.payloads)
      const stream = openStream(reply)
      const leave = bus.watch((news) => {
        if (namespace === undefined || news.envelope.namespace === namespace)
          stream.send(newsToWire(news, withPayloads), 'message')
      })
      void stream.closed.then(leave)
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
        summary: 'Workspaces whose agents are connected to the bus',
        response: { 200: Type.Object({ workspaces: Type.Array(connectedGuestSchema) }), ...failures },
      },
    },
    async () => ({ workspaces: (await cluster.workspaces()).map(connectedGuestToWire) }),
  )
}

/** The bus has its own code for a body that cannot be parsed. What is thrown here, the server's own handler answers. */
function toBodyFault(error: FastifyError): Error {
  const isBodyFault = isFault(error) ? error.code === 'INVALID_REQUEST' : error.statusCode === 400
  return isBodyFault ? fault('INVALID_BODY', error.message, error) : error
}

function respondRoute(app: HttpServer['app'], { cluster, config }: HttpFace, guard: object): void {
  app.post<Named>(
    '/api/plugins/listeners/:namespace/respond',
    {
      ...guard,
      bodyLimit: Math.max(config.bus.maxMessageBytes, LINES_BYTES) + ENVELOPE_BYTES,
      schema: {
        summary: 'Answer a request: an envelope with workspace.name, in_reply_to and payload',
        description:
          'The first answer that is `final` counts, and one that does not say is; later ones are dropped. ' +
          'With `content-type: application/x-ndjson` each line is an answer: all that can be are sent, and the first that cannot is told.',
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
