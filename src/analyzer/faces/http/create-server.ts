import { createHttpServer, type HttpServer } from '../../../lib/http/server.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { errorSchema, errorToWire, fault } from '../../errors.ts'
import type { AnalyzerFace } from './face.ts'
import { adminRoutes } from './routes-admin.ts'
import { lintRoutes } from './routes-lint.ts'
import { projectRoutes } from './routes-project.ts'
import { queryRoutes } from './routes-query.ts'
import { impactRoutes } from './routes-impact.ts'
import { rulesRoutes } from './routes-rules.ts'
import { sourceRoutes } from './routes-source.ts'

/** Creates the HTTP API of one project's server, ready to listen. */
export function createAnalyzerHttp(face: AnalyzerFace, token: string, logger: Logger): HttpServer {
  const server = createHttpServer({
    info: {
      title: 'Analyzer',
      version: face.version,
      description: 'Answers questions about the compiled classes of one project.',
    },
    logger,
    allowedHosts: [],
    token,
    tokenGuards: face.config.server.auth === 'token' ? 'all' : 'changes',
    errors: {
      render: errorToWire,
      schema: errorSchema,
      invalidQuery: (message) => fault('BAD_REQUEST', message),
    },
  })
  adminRoutes(server, face)
  projectRoutes(server, face)
  queryRoutes(server, face)
  impactRoutes(server, face)
  rulesRoutes(server, face)
  sourceRoutes(server, face)
  lintRoutes(server, face)
  return server
}
