import type { FastifyInstance } from 'fastify'
import { parsePath, pathOf, repoOf } from '../../page/request-path.ts'
import { PAGES } from './admission.ts'
import type { ContentFace } from './face.ts'

/** Logs every request for a page of a repository, if a log is configured. */
export function logReads(app: FastifyInstance, { reads, hosts, clock }: ContentFace): void {
  if (reads === undefined) return
  app.addHook('onResponse', (request, reply, done) => {
    done()
    const { raw, reader, method } = request
    if (reader === undefined || request.routeOptions.url !== PAGES) return
    const asked = parsePath(pathOf(raw))
    if (asked === undefined) return
    const { segments, isDirectory } = hosts.inside(raw.headers.host ?? '', asked)
    const repo = repoOf(segments)
    if (repo === undefined) return
    reads.record({
      time: new Date(clock.wallMs()).toISOString(),
      ...(reader.user !== '' && { user: reader.user }),
      ...(reader.token !== undefined && { token: reader.token }),
      repo,
      path: `/${segments.slice(2).join('/')}${isDirectory && segments.length > 2 ? '/' : ''}`,
      method,
      status: reply.statusCode,
      ...(!reader.grants.mayRead(repo) && { denied: true }),
    })
  })
}
