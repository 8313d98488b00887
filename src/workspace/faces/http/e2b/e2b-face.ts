import type { FastifyInstance } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { STATUS_OF_KIND } from '../../../../lib/http/status.ts'
import { WatcherTable } from '../../../files/watcher-table.ts'
import { LivePrograms } from '../../../program/live-programs.ts'
import { subjectOf } from '../audit-subject.ts'
import { keepPathBytes } from '../query-path.ts'
import { ConnectService, HIDDEN, OWN_ADMISSION } from './connect-service.ts'
import { interpreterRoutes } from './interpreter-routes.ts'
import { contentRoutes } from './content-routes.ts'
import { mapApiErrors, mapCodeErrors, mapConnectErrors } from './errors.ts'
import { filesystemService } from './filesystem-service.ts'
import { E2B_PATH } from './hosts.ts'
import { processService } from './process-service.ts'
import { type E2bParts, SandboxEntrance } from './sandbox-request.ts'
import { sandboxRoutes } from './sandbox-routes.ts'

const UNSUPPORTED = STATUS_OF_KIND.unsupported

/** Registers the interface for clients of E2B: its API, and what a sandbox of it serves. */
export function e2bRoutes({ app }: HttpServer, parts: E2bParts): void {
  const { face, access } = parts
  const programs = new LivePrograms(face.table)
  const watchers = new WatcherTable(face.table)
  const entrance = new SandboxEntrance(parts)
  const prefix = E2B_PATH
  // All tokens of E2B's clients derive from the server's.
  const register = (routes: (scope: FastifyInstance) => void): void => {
    void app.register(
      (scope, _options, done) => {
        scope.addHook('onRequest', (_request, reply, next) => {
          face.gate.followServerToken(reply.raw)
          next()
        })
        routes(scope)
        done()
      },
      { prefix },
    )
  }

  register((scope) => {
    mapApiErrors(scope, false)
    scope.addHook('onRequest', (request, _reply, next) => {
      const subject = subjectOf(request, 'api.refuse', '')
      face.audit.admission(subject, () => access.checkKey(request.raw))
      next()
    })
    sandboxRoutes(scope, parts)
    // Not 404, which the SDKs report as a missing sandbox.
    scope.all('/*', { config: OWN_ADMISSION, schema: HIDDEN }, ({ method, url }, reply) => {
      const path = url.slice(prefix.length).split('?')[0]
      const message = `this server does not support ${method} ${path} of E2B's API`
      return reply.status(UNSUPPORTED).send({ code: UNSUPPORTED, message })
    })
  })

  register((scope) => {
    mapApiErrors(scope, true)
    scope.addHook('preValidation', keepPathBytes)
    contentRoutes(scope, face, entrance)
  })

  register((scope) => {
    mapCodeErrors(scope)
    interpreterRoutes(scope, parts, entrance)
  })

  register((scope) => {
    mapConnectErrors(scope)
    // Before the body is read.
    scope.addHook('onRequest', (request, _reply, next) => {
      entrance.admit(request)
      next()
    })
    ConnectService.acceptMessages(scope)
    processService(scope, face, entrance, programs)
    filesystemService(scope, face, entrance, watchers)
    scope.addHook('onClose', async () => {
      watchers.close()
      await programs.close()
    })
  })
}
