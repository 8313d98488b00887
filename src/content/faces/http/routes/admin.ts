import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { fault } from '../../../errors.ts'
import { formTokenOf } from '../../../session/sessions.ts'
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
          'Browsers must send the form token from the home page, because published pages have the same origin.',
        response: {
          200: result,
          303: { type: 'null', description: 'redirect to the home page, after its form' },
        },
      },
    },
    (request, reply) => {
      checkFormToken(request)
      purge()
      audit.info(
        { event: 'purge', user: request.reader?.user, address: addresses.of(request.raw) },
        'cache purged',
      )
      if (isForm(request)) return reply.redirect('/', 303)
      return reply.send({ status: 'ok' })
    },
  )
}

/**
 * Refuses browsers without the token: a published page's script has none (threat O6). Other clients run no such
 * scripts.
 */
function checkFormToken(request: FastifyRequest): void {
  const { headers, reader, body } = request
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) return
  const sent = body instanceof URLSearchParams ? (body.get('token') ?? '') : ''
  const expected = formTokenOf(reader?.sessionId ?? '')
  const isRight =
    reader?.sessionId !== undefined &&
    sent.length === expected.length &&
    timingSafeEqual(Buffer.from(sent.padEnd(64).slice(0, 64)), Buffer.from(expected.padEnd(64).slice(0, 64)))
  if (!isRight) throw fault('FORM_TOKEN_WRONG', 'the form does not belong to this session; reload the page')
}

function isForm({ body, headers }: FastifyRequest): boolean {
  return body instanceof URLSearchParams && (headers.accept ?? '').includes('text/html')
}
