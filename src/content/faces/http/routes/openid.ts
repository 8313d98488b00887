import type { FastifyRequest } from 'fastify'
import { isFault } from '../../../../lib/errors/fault.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { fault } from '../../../errors.ts'
import { safeNext } from '../../../page/next.ts'
import type { ContentFace } from '../face.ts'
import { beginSession } from './login.ts'

const CALLBACK = '/_login/oidc/callback'
const needsNoLogin = { needsNoLogin: true }

/** Adds the routes for login with an OpenID provider. */
export function openIdRoutes({ app }: HttpServer, face: ContentFace): void {
  const { openId, cookies, audit, addresses } = face
  const enabled = () => {
    if (openId === undefined)
      throw fault('PAGE_NOT_FOUND', 'single sign-on is not configured; set "oidc" in the configuration')
    return openId
  }

  app.get<{ readonly Querystring: { readonly next?: string | readonly string[] } }>(
    '/_login/oidc',
    {
      config: needsNoLogin,
      schema: {
        summary: 'Log in with the OpenID provider',
        querystring: {
          type: 'object',
          properties: { next: { description: 'path on this site to open after the login' } },
        },
        response: { 302: { type: 'null', description: 'redirect to the provider' } },
      },
    },
    async (request, reply) => {
      const next = safeNext([request.query.next ?? []].flat()[0])
      const { url, flow } = await enabled().begin(originOf(request, face) + CALLBACK, next)
      void reply.header('set-cookie', cookies.flow(flow)).header('cache-control', 'no-store')
      return reply.redirect(url, 302)
    },
  )

  app.get(
    CALLBACK,
    {
      config: needsNoLogin,
      schema: {
        summary: 'Complete a login with the OpenID provider',
        response: {
          303: { type: 'null', description: 'redirect to next, with the cookie of a new session' },
        },
      },
    },
    async (request, reply) => {
      const provider = enabled()
      const flow = cookies.flowOf(request.raw)
      if (flow === undefined)
        throw fault(
          'LOGIN_REFUSED',
          'this login was not started in this browser, or took too long; start again at /_login',
        )
      try {
        const login = await provider.finish(new URL(originOf(request, face) + request.raw.url), flow)
        await beginSession(face, request, reply, login)
      } catch (error) {
        if (isFault(error) && error.code === 'LOGIN_REFUSED')
          audit.warn(
            { event: 'login_failed', why: error.message, address: addresses.of(request.raw) },
            'login failed',
          )
        throw error
      }
      void reply.header('set-cookie', cookies.flow(undefined))
      return reply.redirect(safeNext(flow.next), 303)
    },
  )
}

/** Returns the origin that browsers use: from the configuration, else from the request. */
function originOf({ raw }: FastifyRequest, { config, addresses }: ContentFace): string {
  const { publicUrl } = config.http
  if (publicUrl !== undefined) return new URL(publicUrl).origin
  const isSecure = addresses.isProxied(raw) && raw.headers['x-forwarded-proto'] === 'https'
  return `${isSecure ? 'https' : 'http'}://${raw.headers.host}`
}
