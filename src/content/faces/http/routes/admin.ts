import type { FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'
import type { ContentFace } from '../face.ts'

const result = Type.Object({ status: Type.String() })

/** Adds the routes for health and for purging the cache. */
export function adminRoutes({ app }: HttpServer, { purge, audit, addresses }: ContentFace): void {
  app.get(
    '/_health',
    {
      config: { needsNoLogin: true },
      schema: {
        summary: 'Check that the server responds; does not query the store',
        response: { 200: result },
      },
    },
    (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  )

  app.post(
    '/_admin/cache/purge',
    {
      schema: {
        summary: 'Purge the cache',
        description:
          'For programs: browsers are refused, because scripts of published pages have the same origin.',
        response: { 200: result },
      },
    },
    (request, reply) => {
      refuseBrowsers(request)
      purge()
      audit.info(
        { event: 'purge', user: request.reader?.user, address: addresses.of(request.raw) },
        'cache purged',
      )
      return reply.send({ status: 'ok' })
    },
  )
}

/** Refuses browsers, in which a script of a published page could send the request (threat O6). */
function refuseBrowsers({ headers }: FastifyRequest): void {
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) return
  throw fault(
    'NOT_FOR_BROWSERS',
    'the cache cannot be purged from a browser; send the request with a program such as curl',
  )
}
