import type { FastifyInstance } from 'fastify'
import { parsePath, pathOf, repoOf, type RequestPath } from '../../page/request-path.ts'
import { PAGES } from './admission.ts'
import type { ContentFace, Reader } from './face.ts'

/** Logs every routed request for a page of a repository, if a log is configured. */
export function logReads(app: FastifyInstance, face: ContentFace): void {
  if (face.reads === undefined) return
  const { hosts } = face
  app.addHook('onResponse', (request, reply, done) => {
    done()
    const { raw, reader, method } = request
    if (reader === undefined || request.routeOptions.url !== PAGES) return
    const asked = parsePath(pathOf(raw))
    if (asked === undefined) return
    logRead(face, {
      reader,
      path: request.readPath ?? hosts.inside(raw.headers.host ?? '', asked),
      method,
      status: reply.statusCode,
    })
  })
}

/** Logs a request for a page of a repository, if a log is configured. */
export function logRead(
  { reads, clock, versions }: ContentFace,
  read: {
    readonly reader: Reader
    /** Path on the common host. */
    readonly path: RequestPath
    readonly method: string
    readonly status: number
  },
): void {
  const { reader, method, status } = read
  const { segments, isDirectory } = read.path
  const repo = repoOf(segments)
  if (reads === undefined || repo === undefined) return
  const version = versions.aliased(read.path)
  reads.record({
    time: new Date(clock.wallMs()).toISOString(),
    ...(reader.user !== '' && { user: reader.user }),
    ...(reader.token !== undefined && { token: reader.token }),
    repo,
    // Of the version that was read: an alias may be moved before the record is written.
    ...(version !== undefined && { version }),
    path: `/${segments.slice(2).join('/')}${isDirectory && segments.length > 2 ? '/' : ''}`,
    method,
    status,
    ...(!reader.grants.mayRead(repo) && { denied: true }),
  })
}
