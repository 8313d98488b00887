import { Type } from '../../../../lib/schema/type.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { sessionListSchema, sessionToWire } from '../../../api/session.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

const listed = { 200: sessionListSchema }

/** Registers the routes for tmux sessions inside workspaces. */
export function sessionRoutes({ app }: HttpServer, { sessions, audit, gate, access }: HttpFace): void {
  app.get(
    '/api/sessions',
    { schema: { summary: 'List tmux sessions of all running workspaces', response: listed } },
    async (request) => {
      const principal = gate.principalOf(request.raw)
      const all = await sessions.listAll()
      const visible = all.filter(({ workspaceName }) => access.canSeeName(principal, workspaceName))
      return { sessions: visible.map(sessionToWire) }
    },
  )

  app.get<{ Params: { readonly name: string } }>(
    '/api/workspaces/:name/sessions',
    {
      schema: {
        summary: 'List tmux sessions of a running workspace',
        params: workspaceParams,
        response: listed,
      },
    },
    async (request) => ({ sessions: (await sessions.list(request.params.name)).map(sessionToWire) }),
  )

  app.delete<{ Params: { readonly name: string; readonly session: string } }>(
    '/api/workspaces/:name/sessions/:session',
    {
      schema: {
        summary: 'Kill a tmux session by its exact name',
        params: Type.Object({ ...workspaceParams.properties, session: Type.String() }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name, session } = request.params
      await audit.follow(subjectOf(request, 'session.kill', name), () => sessions.kill(name, session))
      return reply.status(204).send(null)
    },
  )
}
