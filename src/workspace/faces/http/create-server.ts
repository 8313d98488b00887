import { createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { CODE_OF_FIELD } from '../../api/create.ts'
import { errorSchema, errorToWire } from '../../api/error.ts'
import { workspaceSchema } from '../../api/workspace.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { fault } from '../../errors.ts'
import type { DiskReporter } from '../../disk/report.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { BackendName } from '../../workspace.ts'
import { infoRoutes } from './routes/info.ts'
import { systemRoutes } from './routes/system.ts'
import { workspaceRoutes } from './routes/workspaces.ts'

/** What the routes work on. */
export interface HttpFace {
  readonly config: WorkspaceConfig
  readonly version: string
  readonly hostKey: string
  readonly ports: { readonly http: number; readonly ssh: number }
  readonly availableBackends: () => readonly BackendName[]
  readonly table: WorkspaceTable
  readonly lifecycle: Lifecycle
  readonly disk: DiskReporter
}

/** The REST face of the workspace server, ready to listen. */
export async function createWorkspaceHttp(
  face: HttpFace,
  security: { readonly token?: string | undefined; readonly tls?: { cert: string; key: string } | undefined },
  logger: Logger,
): Promise<HttpServer> {
  const server = await createHttpServer({
    info: {
      title: 'Workspace server',
      version: face.version,
      description: 'Creates, runs and exposes isolated development environments on this host.',
    },
    logger,
    allowedHosts: face.config.http.allowedHosts,
    ...security,
    errors: {
      render: errorToWire,
      invalidField(field, message) {
        const code = CODE_OF_FIELD.get(field)
        return code === undefined ? undefined : fault(code, message)
      },
    },
  })
  server.app.addSchema(workspaceSchema)
  server.app.addSchema(errorSchema)
  infoRoutes(server, face)
  workspaceRoutes(server, face)
  systemRoutes(server, face)
  return server
}
