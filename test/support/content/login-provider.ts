import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import Provider from 'oidc-provider'
import { onTestFinished } from 'vitest'

/** Starts a real OpenID provider whose only account logs in without a prompt. */
export async function startLoginProvider(
  redirectUri: string,
  email: string,
  isVerified: unknown = true,
  groups?: unknown,
): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => end(server))
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'docs', client_secret: 'hidden', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, email, email_verified: isVerified, groups }),
    }),
    interactions: { url: (_context, { uid }) => `/enter/${uid}` },
    cookies: { keys: ['test'] },
  })
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/enter/') === true) void enter(provider, request, response)
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
