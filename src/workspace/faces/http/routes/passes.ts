import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { passBodySchema, passSchema, passToWire } from '../../../api/pass.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { refuseDenied } from '../../../tunnel/denied-ports.ts'
import type { PortHosts } from '../../../tunnel/port-host.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { withPass } from '../ports/pass-parameter.ts'

interface Address {
  readonly hosts: PortHosts
  readonly hasTls: boolean
  readonly wantsToken: boolean
}

/** Passes: what a browser shows in place of the token where it can send no header. */
export function passRoute({ app }: HttpServer, face: HttpFace, address: Address): void {
  const { table, tickets, config, audit } = face
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
      const { body } = request
      void reply.status(201)
      if (body.for === 'terminal') return passToWire(tickets.issue(name, body))
      const { port } = body
      const ticket = await audit.follow(subjectOf(request, 'port.open', name), async () => {
        refuseDenied(port, config.tunnel.denyPorts)
        return tickets.issue(name, body)
      })
      const url = urlOf(name, port, request.headers.host ?? '', address)
      return passToWire(ticket, withPass(url, address.wantsToken ? ticket.ticket : undefined))
    },
  )
}

/** Where a browser that reached the server by `host` finds the port. */
function urlOf(workspace: string, port: number, host: string, { hosts, hasTls }: Address): string {
  const own = hosts.hostFor({ workspace, port }, host)
  const scheme = hasTls ? 'https' : 'http'
  return own === undefined
    ? `${scheme}://${host}/api/workspaces/${workspace}/proxy/${port}/`
    : `${scheme}://${own}/`
}
