import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startDeviceProvider } from '../../../support/device-provider.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { startTeamServer } from '../../../support/workspace/server/team-server.ts'
import { call } from '../../../support/workspace/server/test-server.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { openWorkspacePage } from '../../../support/workspace/client/workspace-page.ts'
import { spawnCli, userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'

const ACCOUNTS = {
  one: { preferred_username: 'Ana.Lyst', groups: ['staff', 'devs'] },
  two: { preferred_username: 'ana.lyst', groups: ['staff'] },
  boss: { preferred_username: 'boss', groups: ['platform'] },
  other: { preferred_username: 'other', groups: ['sales'] },
}

async function startServer() {
  const provider = await startDeviceProvider(ACCOUNTS)
  const oidc = {
    issuer: provider.issuer,
    client_id: 'workspace',
    scope: 'openid profile groups',
    groups_claim: 'groups',
    allowed_groups: ['staff'],
    administrator_groups: ['platform'],
  }
  const team = await startTeamServer({ ana: 'member' }, { settings: { team: { oidc } } })
  onTestFinished(team.stop)
  const post = (path: string) => call(`${team.server.url}${path}`, 'POST')
  /** Logs in and returns the answer to the client that waits. */
  const logIn = async (account: string) => {
    const { status, body } = await post('/api/login')
    expect(status).toBe(201)
    const waiting = post(`/api/login/${body.id}`)
    await provider.enter(body.user_code as string, account)
    return waiting
  }
  const me = async (token: string) =>
    (await team.server.api('users/me', 'GET', undefined, { authorization: `Bearer ${token}` })).body
  return { provider, team, post, logIn, me }
}

describe('the login with an OpenID provider', () => {
  test('creates a user at the first login, and knows it at the next one', async () => {
    const { team, logIn, me } = await startServer()
    const first = await logIn('one')
    expect(first.status).toBe(200)
    expect(first.body.user).toBe('analyst')
    expect(await me(first.body.token as string)).toMatchObject({ role: 'member', groups: ['staff', 'devs'] })
    // Another account with the same name is another user.
    const [again, two, boss] = await Promise.all([logIn('one'), logIn('two'), logIn('boss')])
    expect([again.body.user, two.body.user]).toEqual(['analyst', 'analyst2'])
    expect(await me(boss.body.token as string)).toMatchObject({ role: 'administrator' })
    const { body } = await team.as('')('/api/users')
    expect(body.users.map(({ name }: { name: string }) => name).toSorted()).toEqual([
      'ana',
      'analyst',
      'analyst2',
      'boss',
    ])
  })

  test('refuses accounts outside of the allowed groups, and disabled users', async () => {
    const { team, logIn } = await startServer()
    const other = await logIn('other')
    expect([other.status, other.body.error.code]).toEqual([401, 'LOGIN_REFUSED'])
    await logIn('one')
    await team.as('')('/api/users/analyst', 'PATCH', { disabled: true })
    expect((await logIn('one')).body.error.code).toBe('ACCESS_DENIED')
  })

  test('gives a token to one request only, and not without its secret ID', async () => {
    const { provider, post } = await startServer()
    const { body } = await post('/api/login')
    const waiting = [post(`/api/login/${body.id}`), post(`/api/login/${body.id}`)]
    await provider.enter(body.user_code as string, 'one')
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 404]))
    expect((await post(`/api/login/${body.id}`)).body.error.code).toBe('LOGIN_NOT_FOUND')
    expect((await post(`/api/login/${'A'.repeat(43)}`)).body.error.code).toBe('LOGIN_NOT_FOUND')
  })

  test('is bounded for each address', async () => {
    const { post } = await startServer()
    const begun = await Promise.all(Array.from({ length: 23 }, () => post('/api/login')))
    const codes = begun.map(({ body }) => body.error?.code as string | undefined)
    expect(codes.filter((code) => code === undefined)).toHaveLength(20)
    expect(codes.filter((code) => code === 'TOO_MANY_LOGINS')).toHaveLength(3)
  })

  test('the command keeps the token in the configured file, and needs one', async () => {
    const { provider, team } = await startServer()
    const home = tempDir()
    const tokenFile = join(home, 'tokens', 'team')
    const configFile = join(home, 'cli.yaml')
    const servers = { team: { url: team.server.url, token_file: tokenFile } }
    await writeFile(configFile, JSON.stringify({ default_server: 'team', servers }))
    const environment = userEnvironment({ WORKSPACE_CLI_CONFIG: configFile })
    const cli = spawnCli(['login', '--table'], environment)
    const prompt = () => /user_code=([A-Z-]+)/.exec(cli.stderr())?.[1]
    await waitFor('the prompt', () => prompt() !== undefined)
    await provider.enter(prompt() ?? '', 'one')
    expect([await cli.exit, cli.stderr()]).toEqual([0, expect.stringContaining('Open http')])
    expect(cli.stdout()).toContain(`the token is in ${tokenFile}`)
    expect((await stat(tokenFile)).mode & 0o777).toBe(0o600)
    expect(await readFile(tokenFile, 'utf8')).toMatch(/^wst_[\w-]{43}\n$/)

    await writeFile(configFile, JSON.stringify({ servers: { team: { url: team.server.url } } }))
    const without = await workspaceCli(['login', '--server', 'team'], environment)
    expect(without.stderr).toContain('names no file for the token of server team')
  })

  test('the page shows the code, and continues when the user has logged in elsewhere', async () => {
    const { provider, team } = await startServer()
    const page = await openWorkspacePage(team.server.url)
    await page.choose('.login button')
    const code = '.login .code'
    await page.until('the code', `document.querySelector('${code}') !== null`)
    expect(
      await page.evaluate(`(({ href, target }) => ({ href, target }))(document.querySelector('.login a'))`),
    ).toEqual({ href: expect.stringContaining(`${provider.issuer}/device?user_code=`), target: '_blank' })
    await page.keep('login')
    await provider.enter(await page.evaluate(`document.querySelector('${code}').textContent`), 'one')
    await page.untilText('.connection', 'live')
    const { body } = await team.as('')('/api/users')
    expect(body.users.map(({ name }: { name: string }) => name)).toContain('analyst')
  })

  test('the page shows why a login failed, and keeps a token that was entered meanwhile', async () => {
    const { provider, team } = await startServer()
    const page = await openWorkspacePage(team.server.url)
    const begin = async () => {
      await page.choose('.login button')
      await page.until('the code', `document.querySelector('.login .code') !== null`)
      return page.evaluate<string>(`document.querySelector('.login .code').textContent`)
    }
    await provider.enter(await begin(), 'other')
    await page.untilText('.login [role=alert]', 'in none of the groups staff')
    const second = await begin()
    const token = team.authorizationOf('ana').replace('Bearer ', '')
    await page.fill('input[name=token]', token)
    await page.press('Enter')
    await page.untilText('.connection', 'live')
    await provider.enter(second, 'one')
    // The server completes the login, for nobody.
    await expect
      .poll(async () => JSON.stringify((await team.as('')('/api/users')).body))
      .toContain('"analyst"')
    await page.reload()
    await page.untilText('.connection', 'live')
    expect(await page.evaluate(`sessionStorage.getItem('workspace-token')`)).toBe(token)
  })

  test('the page of a server without a provider offers no login', async () => {
    const team = await startTeamServer({ ana: 'member' })
    onTestFinished(team.stop)
    const page = await openWorkspacePage(team.server.url)
    await page.until('the form', `document.querySelector('input[name=token]') !== null`)
    await page.until(
      'the offer',
      `performance.getEntriesByName(location.origin + '/api/login')[0]?.responseEnd > 0`,
    )
    expect(await page.evaluate(`document.querySelector('.login')`)).toBeNull()
  })
})
