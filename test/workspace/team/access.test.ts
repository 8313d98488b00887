import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { loadWorkspaceConfig } from '../../../src/workspace/config.ts'
import { TeamFile } from '../../../src/workspace/team/team-file.ts'
import { auditEntries } from '../../support/workspace/server/audit-entries.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { makeKey, openSsh, publicKey } from '../../support/workspace/ssh/open-ssh.ts'
import { ask, serveInside } from '../../support/workspace/client/port-client.ts'
import { openTerminal } from '../../support/workspace/client/terminal-client.ts'
import { startTeamServer, type TeamServer } from '../../support/workspace/server/team-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeTempDir, tempDir } from '../../support/temp-dir.ts'
import { call } from '../../support/workspace/server/test-server.ts'

let team: TeamServer
const backend = new FakeBackend()
const auditDirectory = makeTempDir()
const auditFile = join(auditDirectory.path, 'audit')

beforeAll(async () => {
  team = await startTeamServer(
    { root: 'administrator', ana: 'member', bob: 'member', cara: 'guest', dora: 'member' },
    {
      backends: () => [backend],
      settings: { team: { quota: { workspaces: 3, cpus: 8 } }, audit: { file: auditFile } },
    },
  )
  await team.as('ana')('/api/workspaces', 'POST', { name: 'ana-demo', cpus: 1 })
})
afterAll(async () => {
  await team.stop()
  auditDirectory.remove()
})

const share = (shares: Readonly<Record<string, string>>, owner?: string) =>
  team.as('ana')('/api/workspaces/ana-demo/access', 'PUT', { shares, owner })

describe('SSH', () => {
  test('admits the owner and those with the level "use", by their keys', async () => {
    const ssh = await openSsh(team.server, { authorization: team.authorizationOf('ana') })
    onTestFinished(ssh.remove)
    expect((await ssh.run('ana-demo', 'true')).stderr).toContain('Permission denied (publickey)')

    const public_key = publicKey(ssh.keyFile)
    const added = await team.as('bob')('/api/users/me/keys', 'POST', { name: 'laptop', public_key })
    expect(added.status).toBe(201)
    const run = async () => {
      const { status, stderr } = await ssh.run('ana-demo', 'true')
      return status === 0 ? 'admitted' : stderr.trim()
    }
    expect(await run()).toContain('workspace "ana-demo" does not exist')
    await share({ bob: 'read' })
    expect(await run()).toContain('requires the level "use" for workspace "ana-demo"')
    await share({ bob: 'use' })
    expect(await run()).toBe('admitted')

    await waitFor('the entry', () =>
      auditEntries(auditFile).some(
        ({ action, user, outcome }) => action === 'ssh.enter' && user === 'bob' && outcome === 'ok',
      ),
    )

    await share({})
    expect(await run()).toContain('does not exist')
    const { fingerprint } = added.body
    const removed = await team.as('bob')(
      `/api/users/me/keys?fingerprint=${encodeURIComponent(fingerprint)}`,
      'DELETE',
    )
    expect(removed.status).toBe(204)
    expect(await run()).toContain('Permission denied')
  })

  test('a key is of one user', async () => {
    const public_key = publicKey(makeKey(tempDir(), 'ed25519'))
    const add = (user: string) => team.as(user)('/api/users/me/keys', 'POST', { name: 'key', public_key })
    expect((await add('ana')).status).toBe(201)
    expect((await add('bob')).body.error.code).toBe('KEY_ALREADY_EXISTS')
    for (const wrong of ['', 'ssh-ed25519', 'command="sh" ' + public_key, `${public_key}\n${public_key}x`]) {
      const { status } = await team.as('bob')('/api/users/me/keys', 'POST', {
        name: 'key',
        public_key: wrong,
      })
      expect([wrong, status]).toEqual([wrong, 400])
    }
  })
})

describe('ports and terminals', () => {
  test('a ticket and its grant end with the access of the user who got them', async () => {
    const { port } = await serveInside((_asked, answer) => answer.end('inside'))
    const host = `${port}--ana-demo.localhost:${team.server.httpPort}`
    await share({ bob: 'use' })
    const pass = () => team.as('bob')('/api/workspaces/ana-demo/passes', 'POST', { for: 'port', port })
    const enter = async (url: string) => ask(team.server, host, { path: `/?${new URL(url).search.slice(1)}` })
    const unused = (await pass()).body.url as string
    const [cookie = ''] = (await enter((await pass()).body.url as string)).headers['set-cookie'] ?? []
    const headers = { cookie: cookie.split(';')[0] ?? '' }
    expect((await ask(team.server, host, { headers })).status).toBe(200)
    await share({ bob: 'read' })
    expect((await ask(team.server, host, { headers })).status).toBe(401)
    expect((await enter(unused)).status).toBe(403)
    expect((await pass()).body.error.code).toBe('ACCESS_DENIED')
    await share({})
  })

  test('below a path, a personal token admits and stays outside', async () => {
    const { port } = await serveInside((asked, answer) => answer.end(String(asked.headers.authorization)))
    const read = async (user: string) => {
      const response = await fetch(`${team.server.url}/api/workspaces/ana-demo/proxy/${port}/`, {
        headers: { authorization: team.authorizationOf(user) },
      })
      return [response.status, response.status === 200 ? await response.text() : '']
    }
    expect(await read('ana')).toEqual([200, 'undefined'])
    expect(await read('bob')).toEqual([404, ''])
    await share({ bob: 'read' })
    expect(await read('bob')).toEqual([403, ''])
    await share({})
  })

  test('terminals and tunnels require the level "use"', async () => {
    const url = `${team.server.url}/api/workspaces/ana-demo/terminal`
    const open = (user: string) =>
      openTerminal(url, { headers: { authorization: team.authorizationOf(user) } })
    await expect(open('bob')).rejects.toThrow('WORKSPACE_NOT_FOUND')
    await share({ bob: 'read' })
    await expect(open('bob')).rejects.toThrow('ACCESS_DENIED')
    const tunnel = (user: string) =>
      ask(team.server, `127.0.0.1:${team.server.httpPort}`, {
        path: '/api/workspaces/ana-demo/connect/1',
        headers: {
          connection: 'Upgrade',
          upgrade: 'workspace-tcp',
          authorization: team.authorizationOf(user),
        },
      })
    expect((await tunnel('bob')).status).toBe(403)
    // Nothing listens there.
    expect((await tunnel('ana')).status).toBe(502)
    await share({})
  })
})

describe('creating', () => {
  test('members create under their name, within their quota, and from nothing of the host', async () => {
    const create = async (user: string, body: object) => {
      const { status, body: answer } = await team.as(user)('/api/workspaces', 'POST', { cpus: 1, ...body })
      return status === 201 ? 'created' : (answer.error.code as string)
    }
    expect(await create('bob', { name: 'demo' })).toBe('ACCESS_DENIED')
    expect(await create('bob', { name: 'ana-new' })).toBe('ACCESS_DENIED')
    expect(await create('bob', { name: 'ana-demo' })).toBe('ACCESS_DENIED')
    expect(await create('cara', { name: 'cara-demo' })).toBe('ACCESS_DENIED')
    expect(await create('bob', { name: 'bob-1', local_dir: '/nowhere' })).toBe('ACCESS_DENIED')
    expect(await create('bob', { name: 'bob-1', from_snapshot: 'any' })).toBe('ACCESS_DENIED')
    expect(await create('bob', { name: 'bob-1', cpus: null })).toBe('QUOTA_EXCEEDED')
    expect(await create('bob', { name: 'Bob-1', cpus: 4 })).toBe('created')
    expect(await create('bob', { name: 'bob-2', cpus: 5 })).toBe('QUOTA_EXCEEDED')
    expect(await create('bob', { name: 'bob-2' })).toBe('created')
    const fork = (count: number) => team.as('bob')('/api/workspaces/bob-2/fork', 'POST', { count })
    expect((await fork(2)).body.error.code).toBe('QUOTA_EXCEEDED')
    expect((await fork(1)).status).toBe(201)
    expect(await create('bob', { name: 'bob-4' })).toBe('QUOTA_EXCEEDED')
    expect(await create('root', { name: 'anything', cpus: 32 })).toBe('created')
    const to = (name: string) => team.as('bob')('/api/workspaces/bob-2/rename', 'POST', { name })
    expect((await to('ana-2')).body.error.code).toBe('ACCESS_DENIED')
    for (const name of ['bob-1', 'bob-2', 'bob-2-fork-1', 'anything'])
      expect((await team.as('')(`/api/workspaces/${name}`, 'DELETE')).status).toBe(204)
  })

  test('concurrent creations do not exceed the quota', async () => {
    const create = (i: number) => team.as('dora')('/api/workspaces', 'POST', { name: `dora-${i}`, cpus: 1 })
    const created = await Promise.all(Array.from({ length: 12 }, (_, i) => create(i)))
    expect(created.filter(({ status }) => status === 201)).toHaveLength(3)
    for (const { status, body } of created)
      if (status === 201) await team.as('dora')(`/api/workspaces/${body.name}`, 'DELETE')
  })

  test('a fork of a shared workspace belongs to who created it', async () => {
    await share({ bob: 'manage' })
    const forked = await team.as('bob')('/api/workspaces/ana-demo/fork', 'POST', { prefix: 'bob-copy' })
    expect(forked.status).toBe(201)
    const { body } = await team.as('bob')('/api/workspaces/bob-copy-1/access')
    expect(body).toEqual({ owner: 'bob', shares: {} })
    expect((await team.as('ana')('/api/workspaces/bob-copy-1')).status).toBe(404)
    // Ana sees that it was forked, but not to what; Bob sees the source only as long as he may.
    expect(JSON.stringify((await team.as('ana')('/api/workspaces/ana-demo/timeline')).body)).not.toContain(
      'bob',
    )
    expect((await team.as('bob')('/api/workspaces/bob-copy-1')).body.forked_from).toBe('ana-demo')
    await share({})
    expect((await team.as('bob')('/api/workspaces/bob-copy-1')).body.forked_from).toBeUndefined()
    expect(JSON.stringify((await team.as('bob')('/api/workspaces')).body)).not.toContain('ana-demo')
    expect((await team.as('bob')('/api/workspaces/bob-copy-1', 'DELETE')).status).toBe(204)
  })
})

describe('refusals', () => {
  test('are in the audit log, with who wanted what', async () => {
    await share({ cara: 'read' })
    await team.as('cara')('/api/workspaces/ana-demo/stop', 'POST')
    await share({})
    await team.as('cara')('/api/workspaces/ana-demo')
    const refusals = () =>
      auditEntries(auditFile)
        .filter(({ action, user }) => action === 'api.refuse' && user === 'cara')
        .map(({ workspace, code }) => [workspace, code])
    await waitFor('the refusals', () => refusals().length >= 2)
    expect(refusals()).toEqual([
      ['ana-demo', 'ACCESS_DENIED'],
      ['ana-demo', 'WORKSPACE_NOT_FOUND'],
    ])
  })
})

describe('owners', () => {
  test('only the owner and administrators give a workspace away', async () => {
    await share({ bob: 'manage' })
    const put = (user: string, owner: string) =>
      team.as(user)('/api/workspaces/ana-demo/access', 'PUT', { owner, shares: { bob: 'manage' } })
    expect((await put('bob', 'bob')).body.error.code).toBe('ACCESS_DENIED')
    expect((await put('bob', 'ana')).status).toBe(200)
    expect((await put('ana', 'nobody')).body.error.code).toBe('USER_NOT_FOUND')
    expect((await put('ana', 'bob')).body).toEqual({ owner: 'bob', shares: { bob: 'manage' } })
    expect((await team.as('ana')('/api/workspaces/ana-demo')).status).toBe(404)
    expect((await put('root', 'ana')).status).toBe(200)
    await share({})
  })

  test('someone who owns workspaces is not removed, and a new user of a name gets nothing of the old one', async () => {
    const root = team.as('root')
    const eve = { name: 'eve', role: 'member' }
    const add = async (): Promise<string> => {
      expect((await root('/api/users', 'POST', eve)).status).toBe(201)
      const { body } = await root('/api/users/eve/tokens', 'POST', { name: 'first' })
      return body.secret as string
    }
    const as = (secret: string) => (path: string, method?: string, body?: unknown) =>
      call(`${team.server.url}${path}`, method, body, { authorization: `Bearer ${secret}` })
    const first = await add()
    await share({ eve: 'use' })
    expect((await as(first)('/api/workspaces', 'POST', { name: 'eve-1', cpus: 1 })).status).toBe(201)
    expect((await root('/api/users/eve', 'DELETE')).body.error.code).toBe('USER_OWNS_WORKSPACES')
    expect((await as(first)('/api/workspaces/eve-1', 'DELETE')).status).toBe(204)
    expect((await root('/api/users/eve', 'DELETE')).status).toBe(204)
    expect((await as(first)('/api/workspaces')).status).toBe(401)
    expect((await as(await add())('/api/workspaces')).body).toEqual({ workspaces: [] })
    expect((await root('/api/users/eve', 'DELETE')).status).toBe(204)
    await share({})
  })
})

describe('tokens', () => {
  test('end at once when they are revoked, and with their user', async () => {
    const { id } = await team.addToken('second', 'ana', { level: 'use' })
    const second = team.as('second')
    expect((await second('/api/workspaces')).status).toBe(200)
    expect((await second('/api/users/me/tokens', 'POST', { name: 'third' })).status).toBe(403)
    expect((await second('/api/workspaces', 'POST', { name: 'ana-2', cpus: 1 })).body.error.code).toBe(
      'ACCESS_DENIED',
    )
    expect((await team.as('ana')(`/api/users/me/tokens/${id}`, 'DELETE')).status).toBe(204)
    expect((await second('/api/workspaces')).status).toBe(401)
    const set = (disabled: boolean) => team.as('')('/api/users/ana', 'PATCH', { disabled })
    await set(true)
    expect((await team.as('ana')('/api/workspaces')).status).toBe(401)
    await set(false)
    expect((await team.as('ana')('/api/workspaces')).status).toBe(200)
  })

  test('expire', async () => {
    const { body } = await team.as('ana')('/api/users/me/tokens', 'POST', {
      name: 'short',
      expires_after_s: 1,
    })
    const read = () =>
      fetch(`${team.server.url}/api/info`, { headers: { authorization: `Bearer ${body.secret}` } })
    for (;;) {
      const nowMs = Date.now()
      const { status } = await read()
      if (status === 401) {
        expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(body.expires_at))
        break
      }
      expect(nowMs).toBeLessThan(Date.parse(body.expires_at))
    }
  })

  test('are not stored, and appear in no answer, log or file', async () => {
    const secret = team.authorizationOf('ana').slice('Bearer '.length)
    const { body } = await team.as('ana')('/api/users/me')
    expect(JSON.stringify(body)).not.toContain(secret)
    expect(team.server.log()).not.toContain(secret)
    for (const file of [join(team.server.stateDir, 'team.json'), auditFile])
      expect(await readFile(file, 'utf8')).not.toContain(secret)
  })
})

test('probes need no token, and report whether a backend responds', async () => {
  const probe = async (path: string) => (await call(`${team.server.url}${path}`)).status
  expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 200])
  backend.isAvailable = false
  expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 503])
  backend.isAvailable = true
})

describe('the state of a team', () => {
  test('survives a restart, and access does not change', async () => {
    const other = new FakeBackend()
    const own = await startTeamServer({ ana: 'member', bob: 'guest' }, { backends: () => [other] })
    onTestFinished(own.stop)
    await own.as('ana')('/api/workspaces', 'POST', { name: 'ana-1' })
    await own.as('ana')('/api/workspaces/ana-1/access', 'PUT', { shares: { bob: 'read' } })
    const restarted = await own.server.restart()
    onTestFinished(() => restarted.stop())
    const as = (user: string, path: string) =>
      call(`${restarted.url}${path}`, 'GET', undefined, { authorization: own.authorizationOf(user) })
    expect((await as('bob', '/api/workspaces/ana-1')).status).toBe(200)
    expect((await as('bob', '/api/workspaces/ana-1/files/list?path=/')).status).toBe(403)
    expect((await as('ana', '/api/workspaces/ana-1/access')).body).toEqual({
      owner: 'ana',
      shares: { bob: 'read' },
    })
  })

  test('damaged settings of a workspace leave it to the administrators', async () => {
    const other = new FakeBackend()
    const own = await startTeamServer({ ana: 'member' }, { backends: () => [other] })
    onTestFinished(own.stop)
    await own.as('ana')('/api/workspaces', 'POST', { name: 'ana-1' })
    const file = join(own.server.stateDir, 'settings', 'ana-1.json')
    await writeFile(file, (await readFile(file, 'utf8')).replace('"owner"', '"owneR"'))
    const restarted = await own.server.restart()
    onTestFinished(() => restarted.stop())
    const as = (user: string) =>
      restarted.api('workspaces/ana-1', 'GET', undefined, {
        authorization: own.authorizationOf(user),
      })
    expect((await as('ana')).status).toBe(404)
    expect((await as('')).body.settings_error).toContain('damaged')
  })

  test('a damaged file of users is refused, for each of its bytes', async () => {
    const stateDir = tempDir()
    const file = await TeamFile.open(stateDir)
    await file.change((users) => [
      [
        ...users,
        {
          id: 'usr_1',
          name: 'ana',
          role: 'member',
          isDisabled: true,
          groups: [],
          createdMs: 1,
          keys: [],
          tokens: [],
        },
      ],
      undefined,
    ])
    const path = join(stateDir, 'team.json')
    const good = await readFile(path)
    for (let at = 0; at < good.length - 1; at += 1) {
      const damaged = Buffer.from(good)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      await writeFile(path, damaged)
      await expect(TeamFile.open(stateDir)).rejects.toThrow('team.json is damaged')
    }
    await writeFile(path, good)
    expect((await TeamFile.open(stateDir)).users).toHaveLength(1)
  })

  test('settings that contradict each other are refused', () => {
    const load = (flags: object) => () => loadWorkspaceConfig({}, { flags: flags as Record<string, unknown> })
    const oidc = { issuer: 'https://login.example', client_id: 'workspace' }
    expect(load({ team: { enabled: true }, ssh: { authorized_keys: '/k' } })).toThrow('ssh.authorized_keys')
    expect(load({ team: { enabled: true }, e2b: { enabled: true } })).toThrow('e2b.enabled')
    expect(load({ team: { oidc } })).toThrow('requires team.enabled')
    expect(load({ team: { enabled: true, oidc: { ...oidc, allowed_groups: ['a'] } } })).toThrow(
      'groups_claim',
    )
    expect(load({ team: { enabled: true, oidc: { ...oidc, issuer: 'login' } } })).toThrow('must be an http')
  })
})
