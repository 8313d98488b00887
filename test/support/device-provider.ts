import { once } from 'node:events'
import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { onTestFinished } from 'vitest'

/** A real OpenID provider with the device flow, and a user in front of a browser. */
export interface DeviceProvider {
  readonly issuer: string
  /** Enters the code of a login as an account, and consents. */
  readonly enter: (userCode: string, account: string) => Promise<void>
}

/**
 * Starts a provider with accounts, each with its claims.
 *
 * @param autoAccount the account that enters every code by itself; default none
 */
export async function startDeviceProvider(
  accounts: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  autoAccount?: string,
): Promise<DeviceProvider> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'workspace',
        token_endpoint_auth_method: 'none',
        redirect_uris: [],
        response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      },
    ],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...accounts[accountId] }),
    }),
    cookies: { keys: ['test'] },
    // Without these, it prints a notice for each.
    ttl: { AccessToken: 600, DeviceCode: 600, Grant: 600, IdToken: 600 },
  })
  const enter = async (userCode: string, account: string): Promise<void> => {
    const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll(/[^A-Z]/g, ''))
    if (code === undefined) throw new Error(`the provider does not know the code ${userCode}`)
    const grant = new provider.Grant({ accountId: account, clientId: 'workspace' })
    grant.addOIDCScope('openid profile groups')
    code.grantId = await grant.save()
    code.accountId = account
    code.scope = 'openid profile groups'
    code.claims = {}
    code.authTime = Math.floor(Date.now() / 1_000)
    await code.save()
  }
  provider.use(async (context, next) => {
    await next()
    const { body, path } = context
    const { user_code: userCode } = (body ?? {}) as { readonly user_code?: string }
    if (autoAccount !== undefined && path === '/device/auth' && userCode !== undefined)
      await enter(userCode, autoAccount)
  })
  const answer = provider.callback()
  server.on('request', (request, response) => void answer(request, response))
  return { issuer, enter }
}
