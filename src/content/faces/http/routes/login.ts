import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { safeNext } from '../../../page/next.ts'
import type { Login } from '../../../session/sessions.ts'
import { PAGE_HEADERS } from '../pages/layout.ts'
import { type LoginPage, loginPage } from '../pages/login-page.ts'
import type { ContentFace } from '../face.ts'

const page = { content: { 'text/html': { schema: Type.String() } } }
const needsNoLogin = { needsNoLogin: true }

/** Adds the routes for login with a password and for logout. */
export function loginRoutes({ app }: HttpServer, face: ContentFace): void {
  const { config, passwords, openId, sessions, cookies, audit, addresses } = face
  const show = (reply: FastifyReply, status: number, more: Pick<LoginPage, 'next' | 'username' | 'error'>) =>
    reply
      .status(status)
      .headers(PAGE_HEADERS)
      .type('text/html; charset=utf-8')
      .send(
        loginPage({
          title: config.title,
          hasPasswords: passwords.isEnabled,
          hasNames: passwords.hasNames,
          provider: openId?.label,
          ...more,
        }),
      )

  app.get<{ readonly Querystring: { readonly next?: string | readonly string[] } }>(
    '/_login',
    {
      config: needsNoLogin,
      schema: {
        summary: 'Show the login page',
        querystring: {
          type: 'object',
          properties: { next: { description: 'path on this site to open after the login' } },
        },
        response: { 200: { description: 'the page', ...page } },
      },
    },
    ({ query }, reply) => show(reply, 200, { next: safeNext([query.next ?? []].flat()[0]) }),
  )

  app.post(
    '/_login',
    {
      config: needsNoLogin,
      schema: {
        summary: 'Log in with a form of password, username (if users have names) and next',
        response: {
          303: { type: 'null', description: 'redirect to next, with the cookie of a new session' },
          '4xx': { description: 'the login page with the error', ...page },
        },
      },
    },
    async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const [next, username] = [safeNext(form.get('next') ?? undefined), form.get('username') ?? '']
      const address = addresses.of(request.raw)
      const tried = await passwords.try(address, username, form.get('password') ?? '')
      if (tried.is === 'in') {
        await beginSession(face, request, reply, { user: tried.user, proof: tried.proof })
        return reply.redirect(next, 303)
      }
      audit.warn(
        { event: 'login_failed', why: tried.is, user: username.slice(0, 128), address },
        'login failed',
      )
      const again = { next, ...(passwords.hasNames && { username: username.slice(0, 128) }) }
      if (tried.is === 'wrong')
        return show(reply, 401, {
          ...again,
          error: passwords.hasNames ? 'The user name or the password is wrong.' : 'The password is wrong.',
        })
      const seconds = Math.max(1, Math.ceil(tried.afterMs / 1000))
      void reply.header('retry-after', seconds)
      return show(reply, 429, {
        ...again,
        error: `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
      })
    },
  )

  app.post(
    '/_logout',
    {
      config: needsNoLogin,
      schema: {
        summary: 'Log out',
        response: { 303: { type: 'null', description: 'redirect to the login page' } },
      },
    },
    async (request, reply) => {
      const id = cookies.sessionIdOf(request.raw)
      const session = await sessions.find(id)
      if (id !== undefined) await sessions.end(id)
      if (session !== undefined)
        audit.info({ event: 'logout', user: session.user, address: addresses.of(request.raw) }, 'logged out')
      void reply.header('set-cookie', cookies.session('')).header('cache-control', 'no-store')
      return reply.redirect('/_login', 303)
    },
  )
}

/** Starts a session, always under a new id, and ends the browser's previous session. */
export async function beginSession(
  { sessions, cookies, audit, addresses }: ContentFace,
  { raw }: FastifyRequest,
  reply: FastifyReply,
  login: Login,
): Promise<void> {
  const before = cookies.sessionIdOf(raw)
  if (before !== undefined) await sessions.end(before)
  const id = await sessions.begin(login)
  const { user, proof } = login
  audit.info({ event: 'login', user, by: proof.split(':')[0], address: addresses.of(raw) }, 'logged in')
  void reply.header('set-cookie', cookies.session(id)).header('cache-control', 'no-store')
}
