import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { ticketBodySchema, ticketSchema, ticketToWire } from '../../../api/ticket.ts'
import { parseWorkspaceName } from '../../../name.ts'
import type { PortPasses } from '../../../tickets/port-passes.ts'
import { refuseDenied } from '../../../tunnel/denied-ports.ts'
import type { PortHosts } from '../../../tunnel/port-host.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { withTicket } from '../ports/ticket-parameter.ts'

/** How clients reach the server, and its ports. */
interface Address {
  readonly passes: PortPasses
  readonly hosts: PortHosts
  readonly hasTls: boolean
}

/** Registers the route that issues tickets, which replace the token where a browser cannot send a header. */
export function ticketRoute({ app }: HttpServer, face: HttpFace, address: Address): void {
  const { table, tickets, config, audit, gate } = face
  app.post<{ Params: { readonly name: string }; Body: Static<typeof ticketBodySchema> }>(
    '/api/workspaces/:name/passes',
    {
      schema: {
        summary: 'Issue a ticket for a terminal or port, valid once for 30 s, or a link to a port',
        params: workspaceParams,
        body: ticketBodySchema,
        response: { 201: ticketSchema },
      },
    },
    async (request, reply) => {
      const workspace = table.get(parseWorkspaceName(request.params.name))
      const { name } = workspace
      const { body } = request
      const holder = gate.principalOf(request.raw)
      void reply.status(201)
      if (body.for === 'terminal') return ticketToWire(tickets.issue(name, body, holder))
      const { port, valid_s: validSeconds } = body
      const ticket = await audit.follow(subjectOf(request, 'port.open', name), async () => {
        refuseDenied(port, config.tunnel.denyPorts)
        if (validSeconds === undefined) return tickets.issue(name, body, holder)
        return address.passes.issue('link', { workspace, port }, holder, validSeconds * 1_000)
      })
      const url = urlOf(name, port, request.headers.host ?? '', address)
      return ticketToWire(ticket, withTicket(url, gate.requiresToken ? ticket.ticket : undefined))
    },
  )
}

/** Returns the port's URL for a browser that reached the server as `host`. */
function urlOf(workspace: string, port: number, host: string, { hosts, hasTls }: Address): string {
  const own = hosts.hostFor({ workspace, port }, host)
  const scheme = hasTls ? 'https' : 'http'
  return own === undefined
    ? `${scheme}://${host}/api/workspaces/${workspace}/proxy/${port}/`
    : `${scheme}://${own}/`
}
