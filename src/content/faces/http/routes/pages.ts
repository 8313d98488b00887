import type { FastifyReply, FastifyRequest } from 'fastify'
import { readBuiltScript } from '../../../../lib/fs/built-script.ts'
import { readPageStyle } from '../../../../lib/fs/page-style.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { visibleRepos } from '../../../access/grants.ts'
import { fault } from '../../../errors.ts'
import { prefersMarkdown } from '../../../page/accepts.ts'
import { isHtmlPage } from '../../../page/content-type.ts'
import type { Page } from '../../../page/find-page.ts'
import { parsePath, pathOf, pathPartOf } from '../../../page/request-path.ts'
import { SWITCHER_PATH } from '../../../page/version-switcher.ts'
import { PAGES, readerOf } from '../admission.ts'
import { homePage } from '../pages/home-page.ts'
import { PAGE_HEADERS } from '../pages/layout.ts'
import type { ContentFace } from '../face.ts'
import { sendLlms } from '../llms.ts'
import type { PagesInMemory } from '../pages-in-memory.ts'
import type { RawQuery } from '../../../../lib/http/query.ts'
import { searchParametersOf, searchQueryOf } from '../search-query.ts'
import { type Sent, sendObject } from '../send-object.ts'

/** An object may be replaced while it is being sent. */
const TRIES = 3

/** Adds the routes for published pages and the home page. */
export function pageRoutes({ app }: HttpServer, face: ContentFace, inMemory: PagesInMemory): void {
  const style = readPageStyle(new URL('../page/page.css', import.meta.url))
  const isPublic = { config: { needsNoLogin: true, isOnRepoHosts: true }, schema: { hide: true } }
  app.get('/_page.css', isPublic, (_request, reply) =>
    reply.header('cache-control', 'no-cache').type('text/css; charset=utf-8').send(style),
  )
  const addScript = (path: string, file: string): void => {
    app.get(path, isPublic, (_request, reply) => {
      const script = readBuiltScript(new URL(`../built/${file}`, import.meta.url))
      return reply.header('cache-control', 'no-cache').type('text/javascript; charset=utf-8').send(script)
    })
  }
  addScript('/_page.js', 'page.js')
  addScript('/_login.js', 'login.js')
  addScript(SWITCHER_PATH, 'versions.js')

  const { hosts } = face
  app.route({
    method: ['GET', 'HEAD'],
    url: PAGES,
    config: { isOnRepoHosts: true, acceptsTokens: true },
    schema: { hide: true },
    handler(request, reply) {
      const path = pathOf(request.raw)
      const asked = parsePath(path)
      if (asked === undefined) throw notFound(path)
      const { host = '' } = request.headers
      const elsewhere = hosts.redirect(host, asked)
      if (elsewhere === 'nowhere')
        throw fault(
          'PAGE_NOT_FOUND',
          'the name of this repository is too long for a separate host; publish it under a shorter one',
        )
      if (elsewhere !== undefined) return sendTo(reply, elsewhere)
      const inside = hosts.inside(host, asked)
      const { grants } = readerOf(request)
      const sendPage = (page: Page): Sent | Promise<Sent> => {
        if (page.is === 'object') {
          request.readPath = page.markdownOf
          const { object } = page
          if (
            isHtmlPage(object) &&
            (page.markdownOf !== undefined || prefersMarkdown(request.headers.accept))
          )
            return face.markdown
              .find(object)
              .then((markdown) => sendObject(face.cache, { ...page, object: markdown }, request, reply))
          if (!page.isNotFound) inMemory.learn(request.raw, request.repo, inside)
          return sendObject(face.cache, page, request, reply)
        }
        if (page.is === 'missing') {
          // The home page of a repository's host is the repository.
          if (request.repo === undefined) request.missingIn = page.repo
          throw notFound(path)
        }
        if (page.is === 'home') return sendHome(face, request, reply)
        if (page.is === 'llms') return sendLlms(face, page, request, reply)
        sendTo(reply, withQuery(addressOf(face, host, page.to), queryOf(request)), page.status)
        return 'sent'
      }
      const attempt = (): Sent | Promise<Sent> => {
        const page = face.finder.find(inside, grants, (url) => hosts.pathOf(url, host))
        return page instanceof Promise ? page.then(sendPage) : sendPage(page)
      }
      const sent = attempt()
      return sent === 'sent' ? undefined : sendInTries(sent, attempt, path, reply)
    },
  })
}

async function sendInTries(
  first: Sent | Promise<Sent>,
  attempt: () => Sent | Promise<Sent>,
  path: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let sent = await first
  for (let tries = 1; sent === 'changed' && tries < TRIES; tries++) sent = await attempt()
  if (sent === 'changed') throw fault('STORE_UNAVAILABLE', `${path} changes faster than it can be read`)
  return reply
}

async function sendHome(face: ContentFace, request: FastifyRequest, reply: FastifyReply): Promise<Sent> {
  const { user, grants } = readerOf(request)
  const asked = searchQueryOf(searchParametersOf(request.query as RawQuery), undefined)
  const [repos, found] = await Promise.all([face.repos.read(), face.search.find(asked, grants)])
  const page = homePage({
    title: face.config.title,
    user,
    repos: [...visibleRepos(repos, grants).values()],
    query: asked,
    found,
  })
  void reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page)
  return 'sent'
}

/** Returns the address of a path of the common host, on the host that serves it; other addresses are unchanged. */
function addressOf({ hosts }: ContentFace, host: string, to: string): string {
  if (!to.startsWith('/')) return to
  const plain = pathPartOf(to)
  const path = parsePath(plain)
  const elsewhere = path && hosts.redirect(host, path)
  const address = elsewhere === undefined || elsewhere === 'nowhere' ? hosts.outside(host, plain) : elsewhere
  return address + to.slice(plain.length)
}

/** Adds the query of a request to the address of a redirect that has none. */
function withQuery(address: string, query: string): string {
  if (query === '' || address.includes('?')) return address
  const at = address.indexOf('#')
  return at === -1 ? address + query : address.slice(0, at) + query + address.slice(at)
}

/** Redirects temporarily by default: today's directory may be a file tomorrow. Browsers ask again each time. */
function sendTo(reply: FastifyReply, location: string, status = 302) {
  return reply.status(status).header('cache-control', 'no-store').header('location', location).send()
}

function notFound(path: string): Error {
  return fault('PAGE_NOT_FOUND', `nothing is published at ${path.slice(0, 200)}`)
}

function queryOf({ raw: { url = '/' } }: FastifyRequest): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}
