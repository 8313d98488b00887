import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { fault } from '../../../errors.ts'
import { parsePath } from '../../../page/request-path.ts'
import { formTokenOf } from '../../../session/sessions.ts'
import { homePage } from '../pages/home-page.ts'
import { PAGE_HEADERS } from '../pages/layout.ts'
import type { ContentFace } from '../face.ts'
import { RepoHosts } from '../repo-hosts.ts'
import { sendObject } from '../send-object.ts'

const PARTS = [
  ['/_page.css', 'page.css', 'text/css; charset=utf-8'],
  ['/_page.js', 'page.js', 'text/javascript; charset=utf-8'],
] as const
const HITS = 20
/** An object may be published anew while it is looked for. */
const TRIES = 3

/** Everything that is published, and the home page. */
export function pageRoutes({ app }: HttpServer, face: ContentFace): void {
  for (const [path, file, type] of PARTS) {
    const content = readFileSync(new URL(`../pages/${file}`, import.meta.url))
    const options = { config: { needsNoLogin: true }, schema: { hide: true } }
    app.get(path, options, (_request, reply) =>
      reply.header('cache-control', 'no-cache').type(type).send(content),
    )
  }

  const hosts = new RepoHosts(face.config.http.repoDomain)
  app.route({
    method: ['GET', 'HEAD'],
    url: '/*',
    schema: { hide: true },
    handler: async (request, reply) => {
      const path = pathOf(request)
      const asked = parsePath(path)
      if (asked === undefined) throw notFound(path)
      const { host = '' } = request.headers
      const elsewhere = hosts.redirect(host, asked)
      if (elsewhere !== undefined) return sendTo(reply, elsewhere)
      for (let tries = 0; tries < TRIES; tries++) {
        const page = await face.finder.find(hosts.inside(host, asked))
        if (page.is === 'redirect') return sendTo(reply, hosts.outside(host, page.to) + queryOf(request))
        if (page.is === 'home') return sendHome(face, request, reply)
        if (page.is === 'missing') throw notFound(path)
        const sent = await sendObject(face.cache, page, request, reply)
        if (sent !== 'changed') return sent
      }
      throw fault('STORE_UNAVAILABLE', `${path} changes faster than it can be read`)
    },
  })
}

async function sendHome(face: ContentFace, { reader, query }: FastifyRequest, reply: FastifyReply) {
  const { q } = query as Readonly<Record<string, unknown>>
  const words = typeof q === 'string' ? q : ''
  const [repos, found] = await Promise.all([face.repos.read(), face.search.find(words, HITS)])
  const page = homePage({
    title: face.config.title,
    user: reader?.user ?? '',
    repos: [...repos.values()],
    query: words,
    found,
    formToken: reader?.sessionId === undefined ? undefined : formTokenOf(reader.sessionId),
  })
  return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page)
}

/** Not for ever: what is a directory today may be a file tomorrow. */
function sendTo(reply: FastifyReply, location: string) {
  return reply.status(302).header('cache-control', 'no-store').header('location', location).send()
}

function notFound(path: string): Error {
  return fault('PAGE_NOT_FOUND', `nothing is published at ${path.slice(0, 200)}`)
}

function pathOf({ raw: { url = '/' } }: FastifyRequest): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

function queryOf({ raw: { url = '/' } }: FastifyRequest): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}
