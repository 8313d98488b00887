import { createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Secret } from '../../../lib/http/token-rule.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { Type } from '../../../lib/schema/type.ts'
import { errorSchema, errorToWire } from '../../api/error.ts'
import { logEntrySchema } from '../../api/log.ts'
import { actionSchema, detailSchema, groupActionSchema, summarySchema } from '../../api/process.ts'
import { requestSchema } from '../../api/request.ts'
import { whySchema } from '../../api/why.ts'
import { fault } from '../../errors.ts'
import { API } from './api-path.ts'
import { dropMetrics } from './drop-metrics.ts'
import type { SupervisorFace } from './face.ts'
import { processMetrics } from './process-metrics.ts'
import { groupRoutes } from './routes/groups.ts'
import { logRoutes } from './routes/logs.ts'
import { processRoutes } from './routes/processes.ts'
import { proxyRoutes } from './routes/proxy.ts'
import { terminalRoutes } from './routes/terminal.ts'
import { supervisorRoutes } from './routes/supervisor.ts'

/** Creates the supervisor's HTTP server. */
export function createSupervisorHttp(
  face: SupervisorFace,
  token: Secret | undefined,
  logger: Logger,
): HttpServer {
  const server = createHttpServer({
    info: {
      title: 'Process supervisor',
      version: face.version,
      description: 'Runs named processes and exposes their state and output.',
    },
    logger,
    allowedHosts: face.config.api.allowedHosts,
    token,
    errors: {
      render: errorToWire,
      schema: Type.Ref('Error'),
      invalidQuery: (message) => fault('INVALID_QUERY', message),
    },
  })
  const { app } = server
  for (const schema of [
    errorSchema,
    summarySchema,
    detailSchema,
    actionSchema,
    groupActionSchema,
    logEntrySchema,
    requestSchema,
    whySchema,
  ])
    app.addSchema(schema)
  app.addHook('onRequest', (request, _reply, done) => {
    if (face.isStopping() && request.url.startsWith(API))
      throw fault('SHUTDOWN_IN_PROGRESS', 'the supervisor is shutting down')
    done()
  })
  const dropped = dropMetrics(server, face)
  supervisorRoutes(server, face)
  processRoutes(server, face)
  groupRoutes(server, face)
  terminalRoutes(server, face, dropped)
  logRoutes(server, face, dropped)
  proxyRoutes(server, face)
  processMetrics(server, face)
  return server
}
