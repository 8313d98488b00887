import { isFault } from '../../../../lib/errors/fault.ts'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  completedLoginSchema,
  loginOfferSchema,
  loginSchema,
  loginToWire,
  promptToWire,
} from '../../../api/login.ts'
import { fault } from '../../../errors.ts'
import type { DeviceLogin } from '../../../team/device-login.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

/** How long a request waits for the user, less than clients and proxies wait for a response. */
const WAIT_MS = 20_000

const config = { needsNoToken: true } as const

/** Registers the routes by which users of an OpenID provider get a token. */
export function loginRoutes({ app }: HttpServer, { login, audit }: HttpFace): void {
  const enabled = (): DeviceLogin => {
    if (login !== undefined) return login
    throw fault('TEAM_DISABLED', 'this server has no login; set team.oidc in its configuration')
  }

  app.get(
    '/api/login',
    {
      config,
      schema: {
        summary: 'Find out whether users can log in with an OpenID provider',
        response: { 200: loginOfferSchema },
      },
    },
    () => ({ available: login !== undefined }),
  )

  app.post(
    '/api/login',
    {
      config,
      schema: {
        summary: 'Begin a login with the OpenID provider (device flow)',
        description: 'The user opens the address in a browser and enters the code.',
        response: { 201: loginSchema },
      },
    },
    async (request, reply) => {
      const prompt = await enabled().begin(request.ip)
      return reply.status(201).header('cache-control', 'no-store').send(promptToWire(prompt))
    },
  )

  app.post<{ readonly Params: { readonly id: string } }>(
    '/api/login/:id',
    {
      config,
      schema: {
        summary: 'Wait for a login, at most 20 s, and get its token',
        description: 'Responds with `{pending: true}` until the user has logged in.',
        params: Type.Object({ id: Type.String() }),
        response: { 200: completedLoginSchema },
      },
    },
    async (request, reply) => {
      const subject = subjectOf(request, 'user.login', '')
      const gone = AbortSignal.any([AbortSignal.timeout(WAIT_MS), abortOnClose(reply)])
      const completed = await enabled()
        .wait(request.params.id, gone)
        .catch((error: unknown) => {
          if (isFault(error)) audit.refuse(subject, error.code)
          throw error
        })
      void reply.header('cache-control', 'no-store')
      if (completed === undefined) return { pending: true }
      audit.record({ ...subject, user: completed.user.name }, { outcome: 'ok' })
      return loginToWire(completed)
    },
  )
}
