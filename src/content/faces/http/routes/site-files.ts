import type { FastifyRequest } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { visibleRepos } from '../../../access/grants.ts'
import type { Page } from '../../../page/find-page.ts'
import { formatPath } from '../../../page/request-path.ts'
import { readerOf } from '../admission.ts'
import type { ContentFace } from '../face.ts'
import { sendObject } from '../send-object.ts'

/** Crawlers read at least this much (RFC 9309). */
const MAX_ROBOTS_BYTES = 500 * 1024
/** An open book that is visible in light and dark tabs. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3b6fb5" d="M1 3q4-1.5 6.5.5v10Q5 11.5 1 13zm14 0q-4-1.5-6.5.5v10Q11 11.5 15 13z"/></svg>
`

const OPEN = {
  config: { admitsVisitors: true, isOnRepoHosts: true, acceptsTokens: true },
  schema: { hide: true },
}

/** Adds the files that clients expect at the root of each host. */
export function siteFileRoutes({ app }: HttpServer, face: ContentFace): void {
  app.get('/robots.txt', OPEN, async (request, reply) => {
    const text = await robotsOf(face, request)
    return reply.header('cache-control', 'no-cache').type('text/plain; charset=utf-8').send(text)
  })

  app.get('/favicon.ico', OPEN, async (request, reply) => {
    const page = await ownIcon(face, request)
    if (page?.is === 'object' && !page.isNotFound) {
      const sent = await sendObject(face.cache, page, request, reply)
      if (sent === 'sent') return reply
    }
    return reply
      .header('cache-control', 'private, max-age=3600')
      .header('content-security-policy', "default-src 'none'")
      .type('image/svg+xml')
      .send(ICON)
  })
}

/** Returns the rules for crawlers: nothing is allowed, unless public repositories are and the configuration wants it. */
async function robotsOf({ config, rules, repos }: ContentFace, request: FastifyRequest): Promise<string> {
  const lines = ['User-agent: *']
  if (config.robots === 'public' && rules.hasPublic) {
    const names =
      request.repo === undefined
        ? [...visibleRepos(await repos.read(), rules.visitor).keys()]
        : [request.repo]
    let bytes = 0
    for (const name of names) {
      if (!rules.visitor.mayRead(name)) continue
      const line = `Allow: ${request.repo === undefined ? formatPath(['repos', name], true) : '/'}`
      if ((bytes += line.length + 1) > MAX_ROBOTS_BYTES) break
      lines.push(line)
    }
  }
  return [...lines, ...(lines.includes('Allow: /') ? [] : ['Disallow: /']), ''].join('\n')
}

/** Returns the icon that the operator or, on the host of a repository, its publisher has put there. */
async function ownIcon({ finder, hosts }: ContentFace, request: FastifyRequest): Promise<Page | undefined> {
  const path = hosts.inside(request.headers.host ?? '', { segments: ['favicon.ico'], isDirectory: false })
  try {
    return await finder.find(path, readerOf(request).grants)
  } catch (error) {
    // An icon is not worth an error page.
    if (isFault(error)) return undefined
    throw error
  }
}
