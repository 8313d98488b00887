import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../../src/lib/clock/clock.ts'
import { Team } from '../../../../src/workspace/team/team.ts'
import { TeamFile } from '../../../../src/workspace/team/team-file.ts'
import type { Role } from '../../../../src/workspace/team/user.ts'
import { FakeBackend } from '../backend/fake-backend.ts'
import { call, startWorkspaceServer, type TestServer, type TestServerOptions } from './test-server.ts'

/** A server with users, and a client for each. */
export interface TeamServer {
  readonly server: TestServer
  /** Sends a request as a user, or as the server's administrator (''). */
  readonly as: (user: string) => (path: string, method?: string, body?: unknown) => ReturnType<typeof call>
  readonly authorizationOf: (user: string) => string
  /** Creates another token for a user and lets it act under a separate name. */
  readonly addToken: (
    actor: string,
    user: string,
    limits: { readonly level?: string; readonly workspaces?: readonly string[] },
  ) => Promise<{ readonly id: string }>
  readonly stop: () => Promise<void>
}

/** Starts a server with users of these roles and groups. */
export async function startTeamServer(
  users: Readonly<Record<string, Role | { readonly role: Role; readonly groups: readonly string[] }>>,
  {
    settings,
    ...options
  }: Omit<TestServerOptions, 'stateDir'> & {
    readonly settings?: Readonly<Record<string, unknown>> & { readonly team?: object }
  } = {},
): Promise<TeamServer> {
  const stateDir = await mkdtemp(join(tmpdir(), 'workspace-team-'))
  const team = new Team(await TeamFile.open(stateDir), systemClock)
  const secrets = new Map<string, string>()
  for (const [name, given] of Object.entries(users)) {
    const { role, groups } = typeof given === 'string' ? { role: given, groups: [] } : given
    const user = await team.logIn({ identity: `test ${name}`, name, role, groups })
    const { secret } = await team.addToken(user.id, { name: 'test', level: 'manage', expiresAfterS: 3_600 })
    secrets.set(name, secret)
  }
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    ...options,
    stateDir,
    settings: { ...settings, team: { enabled: true, ...settings?.team } },
  })
  secrets.set('', (await readFile(join(stateDir, 'token'), 'utf8')).trim())
  const authorizationOf = (user: string): string => `Bearer ${secrets.get(user)}`
  const as: TeamServer['as'] =
    (user) =>
    (path, method = 'GET', body) =>
      call(`${server.url}${path}`, method, body, { authorization: authorizationOf(user) })
  return {
    server,
    as,
    authorizationOf,
    async addToken(actor, user, limits) {
      const { status, body } = await as(user)('/api/users/me/tokens', 'POST', {
        name: 'another',
        ...limits,
      })
      if (status !== 201) throw new Error(JSON.stringify(body))
      secrets.set(actor, body.secret as string)
      return { id: body.id as string }
    },
    async stop() {
      await server.stop()
      await rm(stateDir, { recursive: true, force: true })
    },
  }
}
