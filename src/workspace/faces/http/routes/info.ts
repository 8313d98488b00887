import type { HttpServer } from '../../../../lib/http/server.ts'
import { hostKeySchema, infoSchema } from '../../../api/info.ts'
import type { HttpFace } from '../face.ts'

/** Registers the routes for server information and the SSH host key. */
export function infoRoutes({ app }: HttpServer, face: HttpFace): void {
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
