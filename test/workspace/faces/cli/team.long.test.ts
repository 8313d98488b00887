import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeTempDir } from '../../../support/temp-dir.ts'
import { makeKey } from '../../../support/workspace/ssh/open-ssh.ts'
import { startTeamServer, type TeamServer } from '../../../support/workspace/server/team-server.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'

let team: TeamServer
const { path: directory, remove } = makeTempDir()

beforeAll(async () => {
  team = await startTeamServer({ root: 'administrator', ana: 'member' })
})
afterAll(async () => {
  await team.stop()
  remove()
})

/** Runs a command as a user, and returns what it prints. */
async function as(user: string, ...argv: readonly string[]): Promise<string> {
  return withToken(team.authorizationOf(user).slice('Bearer '.length), ...argv)
}

async function withToken(token: string, ...argv: readonly string[]): Promise<string> {
  const file = join(directory, 'token')
  writeFileSync(file, token)
  const environment = userEnvironment({ WORKSPACE_URL: team.server.url, WORKSPACE_TOKEN_FILE: file })
  const { stdout, stderr } = await workspaceCli([...argv, '--table'], environment)
  return `${stdout}${stderr}`.trim()
}

describe('the commands for a team', () => {
  test('an administrator adds a user, who gets a token and shares a workspace', async () => {
    expect(await as('root', 'user', 'add', 'bob')).toBe(
      'bob is a member; create a token for them: workspace token create NAME --user bob',
    )
    const token = await as('root', 'token', 'create', 'laptop', '--user', 'bob', '--expires', '12h')
    expect(token).toMatch(/^wst_[\w-]{43}$/)
    expect(await withToken(token, 'ls')).toContain('workspace create')
    expect(await as('ana', 'create', 'ana-demo')).toContain('ana-demo')
    expect(await as('ana', 'ls')).toMatch(
      /^NAME +STATUS +BACKEND +AGE +SOURCE +OWNER\nana-demo +running .* ana$/,
    )
    expect(await as('ana', 'share', 'ana-demo', 'bob=use', 'group:devs=read')).toBe(
      ['WHO         LEVEL', 'ana         owner', 'bob         use', 'group:devs  read'].join('\n'),
    )
    expect(await as('ana', 'share', 'ana-demo', 'group:devs=')).not.toContain('devs')
    expect(await withToken(token, 'share', 'ana-demo')).toContain('bob  use')
    expect(await withToken(token, 'rm', 'ana-demo')).toContain('requires the level "manage"')
    expect(await as('ana', 'share', 'ana-demo', '--none')).toBe('WHO  LEVEL\nana  owner')
    expect(await withToken(token, 'show', 'ana-demo')).toContain('does not exist')
    expect(await as('ana', 'share', 'ana-demo', 'bob=all')).toContain('"bob=all" must be USER=LEVEL')
    expect(await as('ana', 'share', 'ana-demo', 'zoe=use')).toContain('user "zoe" does not exist')
    expect(await as('root', 'share', 'ana-demo', '--owner', 'bob')).toContain('bob  owner')
    expect(await as('root', 'user', 'rm', 'bob')).toContain('user "bob" owns workspaces, such as "ana-demo"')
    expect(await as('root', 'user', 'set', 'bob', '--disable')).toMatch(/bob +member +disabled/)
    expect(await withToken(token, 'ls')).toContain('is not valid on this server')
    expect(await as('root', 'user', 'ls')).toMatch(/ana +member +active/)
    expect(await as('ana', 'user', 'ls')).toContain('this requires an administrator')
  })

  test('users manage their own keys and tokens', async () => {
    const file = `${makeKey(directory, 'ed25519')}.pub`
    const added = await as('ana', 'key', 'add', 'laptop', file)
    const [, fingerprint = ''] = /added laptop \((SHA256:\S+)\)/.exec(added) ?? []
    expect(await as('ana', 'key', 'ls')).toContain(fingerprint)
    expect(await as('ana', 'key', 'rm', fingerprint)).toBe(`removed ${fingerprint}`)
    expect(await as('ana', 'key', 'rm', fingerprint)).toContain('user "ana" has no key')
    expect(await as('ana', 'key', 'add', 'laptop', join(directory, 'none'))).toContain('cannot be read')
    expect(await as('ana', 'key', 'add', 'laptop', file.slice(0, -4))).toContain('it is not a line such as')
    expect(await as('ana', 'key', 'ls', '--user', 'root')).toContain('this requires an administrator')

    await as('ana', 'token', 'create', 'ci', '--level', 'use', '--only', 'ana-demo', 'ana-other')
    const [, id = ''] = /^(tok_\w+) +ci +use +ana-demo, ana-other/m.exec(await as('ana', 'token', 'ls')) ?? []
    expect(await as('ana', 'token', 'revoke', id)).toBe(`revoked ${id}`)
    expect(await as('ana', 'token', 'ls')).not.toContain(id)
  })
})
