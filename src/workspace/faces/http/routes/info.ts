import type { HttpServer } from '../../../../lib/http/server.ts'
import { hostKeySchema, infoSchema } from '../../../api/info.ts'
import type { HttpFace } from '../face.ts'

/** What the server is and how it proves to be itself. */
export function infoRoutes({ app }: HttpServer, face: HttpFace): void {
  app.get(
    '/api/info',
    { schema: { summary: 'Name, version, ports and backends', response: { 200: infoSchema } } },
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
    { schema: { summary: "The SSH server's public key, to pin", response: { 200: hostKeySchema } } },
    () => ({ host_key: face.hostKey }),
  )
}
