import type { HttpServer } from '../../../../lib/http/server.ts'
import { healthSchema, hostKeySchema, infoSchema } from '../../../api/info.ts'
import { unavailable } from '../../../errors.ts'
import type { HttpFace } from '../face.ts'

/** Registers the routes for server information and the SSH host key, and for probes, which need no token. */
export function infoRoutes({ app }: HttpServer, face: HttpFace): void {
  const config = { needsNoToken: true } as const
  app.get(
    '/healthz',
    {
      config,
      schema: { summary: 'Report that the server responds', response: { 200: healthSchema } },
    },
    () => ({ status: 'ok' }),
  )
  app.get(
    '/readyz',
    {
      config,
      schema: {
        summary: 'Report whether the server can create workspaces: whether an enabled backend responds',
        response: { 200: healthSchema },
      },
    },
    () => {
      if (face.availableBackends().length > 0) return { status: 'ok' }
      throw unavailable('no enabled backend responds; see the log of the server')
    },
  )
  app.get(
    '/api/info',
    {
      schema: {
        summary: "Show the server's name, version, ports and backends",
        response: { 200: infoSchema },
      },
    },
    () => ({
      name: face.config.name,
      version: face.version,
      ssh_port: face.ports.ssh,
      http_port: face.ports.http,
      default_backend: face.config.defaultBackend,
      enabled_backends: face.availableBackends(),
    }),
  )
  app.get(
    '/api/ssh-host-key',
    { schema: { summary: "Show the SSH server's public key", response: { 200: hostKeySchema } } },
    () => ({ host_key: face.hostKey }),
  )
}
