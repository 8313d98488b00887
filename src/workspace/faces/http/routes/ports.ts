import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { PORT_PATH, type PortDoor } from '../ports/port-door.ts'

const URL = '/api/workspaces/:name/proxy/:port/*'

/** Ports of workspaces below a path of the API, for browsers that find no host of the port's own. */
export function portRoutes({ app, upgrades }: HttpServer, door: PortDoor): void {
  const config = { needsNoToken: true }
  // Here and not in the handler, before which a body would be read, and this one is the workspace's.
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    await door.answerBelowPath(request.raw, reply.raw)
  }
  app.get(
    URL,
    {
      config,
      exposeHeadRoute: false,
      onRequest,
      schema: {
        summary: 'What a port of a workspace serves',
        description:
          'All methods; a WebSocket passes too. Answers are shown in a sandbox and have no origin.',
        response: { 200: Type.Unsafe({}), '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') },
      },
    },
    alreadyAnswered,
  )
  app.route({
    method: ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: URL,
    config,
    onRequest,
    schema: { hide: true },
    handler: alreadyAnswered,
  })
  app.get('/api/workspaces/:name/proxy/:port', { config, schema: { hide: true } }, ({ url }, reply) =>
    reply.redirect(url.replace(/(?=[?]|$)/, '/'), 308),
  )
  upgrades.handle('websocket', (request, socket, head) => door.upgradeBelowPath(request, socket, head), {
    needsNoToken: true,
    path: PORT_PATH,
  })
}

function alreadyAnswered(): never {
  throw new Error('the request has been answered before')
}
