import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { passBodySchema, passSchema, passToWire } from '../../../api/pass.ts'
import { parseWorkspaceName } from '../../../lifecycle/name.ts'
import { refuseDenied } from '../../../tunnel/denied-ports.ts'
import type { HttpFace } from '../face.ts'

/** Passes: what a browser shows in place of the token where it can send no header. */
export function passRoute({ app }: HttpServer, { table, passes, config }: HttpFace): void {
  app.post<{ Params: { readonly name: string }; Body: Static<typeof passBodySchema> }>(
    '/api/workspaces/:name/passes',
    {
      schema: {
        summary: 'A pass for one terminal or one port, good once and for 30 s',
        body: passBodySchema,
        response: { 201: passSchema, '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') },
      },
    },
    async (request, reply) => {
      const { name } = table.get(parseWorkspaceName(request.params.name))
      if (request.body.for === 'port') refuseDenied(request.body.port, config.tunnel.denyPorts)
      return reply.status(201).send(passToWire(passes.issue(name, request.body)))
    },
  )
}
