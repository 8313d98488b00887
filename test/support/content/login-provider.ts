import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import Provider from 'oidc-provider'
import { onTestFinished } from 'vitest'

/** Where a provider reports the claims of an account. */
export interface ReportedClaims {
  readonly idToken: Readonly<Record<string, unknown>>
  /** Claims or status of the user-info endpoint, of which there is none without them. */
  readonly userInfo?: Readonly<Record<string, unknown>> | number
}

/** Starts a real OpenID provider whose only account logs in without a prompt. */
export async function startLoginProvider(
  redirectUri: string,
  email: string,
  isVerified: unknown = true,
  groups?: unknown,
  reported?: ReportedClaims,
): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => end(server))
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'docs', client_secret: 'hidden', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    conformIdTokenClaims: reported === undefined,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: reported === undefined || reported.userInfo !== undefined },
    },
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: (use) => ({
        sub: accountId,
        ...(reported === undefined
          ? { email, email_verified: isVerified, groups }
          : use === 'id_token'
            ? reported.idToken
            : Object(reported.userInfo)),
      }),
    }),
    interactions: { url: (_context, { uid }) => `/enter/${uid}` },
    cookies: { keys: ['test'] },
  })
  server.on('request', (request, response) => {
    if (request.url === '/me' && typeof reported?.userInfo === 'number')
      response.writeHead(reported.userInfo).end()
    else if (request.url?.startsWith('/enter/') === true) void enter(provider, request, response)
    else void provider.callback()(request, response)
  })
  return issuer
}

async function enter(
  provider: Provider,
  ...[request, response]: Parameters<Provider['interactionDetails']>
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: 'account-1' } })
  const grant = new provider.Grant({ accountId: 'account-1', clientId: String(params['client_id']) })
  grant.addOIDCScope(String(params['scope']))
  const grantId = await grant.save()
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId } },
    { mergeWithLastSubmission: true },
  )
}

function end(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
