import type { HttpServer } from '../../../../lib/http/server.ts'
import { fault } from '../../../errors.ts'
import { safeNext } from '../../../page/next.ts'
import { isRepoName } from '../../../repo/meta.ts'
import { isState } from '../../../session/handoff.ts'
import type { ContentFace } from '../face.ts'

type Query = Readonly<Record<string, string | readonly string[] | undefined>>

const redirect = (description: string) => ({ type: 'null', description })

/** Adds the routes that pass a login from the common host to a repository's host, in two redirects. */
export function handoffRoutes({ app }: HttpServer, face: ContentFace): void {
  const { hosts, handOver, cookies, sessions } = face
  app.get<{ readonly Querystring: Query }>(
    '/_hand-over',
    {
      exposeHeadRoute: false,
      schema: {
        summary: "Pass the login to a repository's host",
        querystring: {
          type: 'object',
          properties: {
            repo: { description: 'name of the repository' },
            state: { description: "digest of the browser's secret for that host" },
            next: { description: 'path on that host' },
          },
        },
        response: { 302: redirect("to the repository's host, with a ticket") },
      },
    },
    async ({ query, reader, raw }, reply) => {
      const [repo, state] = [textOf(query, 'repo'), textOf(query, 'state')]
      const origin = isRepoName(repo) ? hosts.originOf(repo, raw.headers.host ?? '') : undefined
      if (!hosts.isEnabled || origin === undefined || !isState(state))
        throw fault('PAGE_NOT_FOUND', 'no repository with a separate host is at this address')
      // A script that fetches this must not get a ticket.
      if ((raw.headers['sec-fetch-mode'] ?? 'navigate') !== 'navigate')
        throw fault('EMBEDDING_REFUSED', 'this address must be opened as a page; scripts cannot fetch it')
      if (reader?.sessionId === undefined)
        throw fault(
          'LOGIN_REFUSED',
          'the proxy did not name a reader; configure its login for the repository hosts too',
        )
      const ticket = await handOver.issue(reader.sessionId, repo, state)
      const search = new URLSearchParams({ ticket, next: safeNext(textOf(query, 'next')) })
      void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
      return reply.redirect(`${origin}/_enter?${search.toString()}`, 302)
    },
  )

  app.get<{ readonly Querystring: Query }>(
    '/_enter',
    {
      exposeHeadRoute: false,
      config: { needsNoLogin: true, isOnRepoHosts: true },
      schema: {
        summary: "Start a session on a repository's host, with a ticket",
        querystring: {
          type: 'object',
          properties: {
            ticket: { description: 'one-time ticket, valid for 30 seconds' },
            next: { description: 'path on this host' },
          },
        },
        response: { 303: redirect("to next, with this host's session cookie") },
      },
    },
    async ({ query, repo, raw }, reply) => {
      if (repo === undefined) throw fault('PAGE_NOT_FOUND', 'only repository hosts accept tickets')
      const next = safeNext(textOf(query, 'next'))
      const secret = cookies.secretOf(raw)
      const id =
        secret === undefined ? undefined : await handOver.redeem(textOf(query, 'ticket'), repo, secret)
      void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
      if (id !== undefined) return reply.header('set-cookie', cookies.session(id)).redirect(next, 303)
      // The browser went back to an old address and already has a session.
      if ((await sessions.find(cookies.sessionIdOf(raw), repo)) !== undefined)
        return reply.redirect(next, 303)
      throw fault(
        'TICKET_INVALID',
        'the login ticket was used, has expired, or belongs to another browser or host; open the page again',
      )
    },
  )
}

/** Returns a parameter; '' if it is missing or repeated. */
function textOf(query: Query, name: string): string {
  const value = query[name]
  return typeof value === 'string' ? value : ''
}
