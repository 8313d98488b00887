import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { API } from '../api-path.ts'
import type { SupervisorFace } from '../face.ts'

const statusSchema = Type.Object({
  status: Type.String(),
  uptime_seconds: Type.Integer(),
  config_file: Type.String(),
  api_version: Type.String(),
  version: Type.String(),
  pid: Type.Integer(),
  proxy: Type.Union([Type.Object({ host: Type.String(), port: Type.Integer() }), Type.Null()]),
})

const names = Type.Array(Type.String())
const reloadSchema = Type.Object({
  success: Type.Boolean(),
  added: names,
  removed: names,
  changed: names,
  unchanged: Type.Integer(),
  warnings: names,
})

/** Adds the routes of the supervisor itself: status, shutdown and reload. */
export function supervisorRoutes({ app }: HttpServer, face: SupervisorFace): void {
  app.get(
    `${API}/status`,
    {
      schema: {
        summary: 'Returns the status of the supervisor',
        response: { 200: statusSchema },
      },
    },
    () => ({
      status: face.isReady() ? 'running' : 'starting',
      uptime_seconds: Math.floor((Date.now() - face.startedMs) / 1_000),
      config_file: face.config.configFile ?? '',
      api_version: 'v1',
      version: face.version,
      pid: process.pid,
      proxy: face.proxy?.address ?? null,
    }),
  )

  app.post(
    `${API}/shutdown`,
    {
      schema: {
        summary: 'Stops all processes and exits',
        response: { 200: Type.Ref('ActionResult') },
      },
    },
    (_request, reply) => {
      // The closed connection shows the client that the supervisor has stopped.
      void reply.header('connection', 'close')
      reply.raw.once('close', face.shutDown)
      return { success: true }
    },
  )

  app.post(
    `${API}/reload`,
    {
      schema: {
        summary: 'Reloads the configuration',
        description: 'Unchanged processes are not touched.',
        response: { 200: reloadSchema },
      },
    },
    async () => ({ success: true, ...(await face.reload()) }),
  )
}
