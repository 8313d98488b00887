import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Backend } from '../../src/workspace/backend/backend.ts'
import { dockerBackend, uniqueName } from '../support/engine/docker.ts'
import { describeOn } from '../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../support/workspace/backend/fake-backend.ts'
import { expectError } from '../support/workspace/server/expect-error.ts'
import { startWorkspaceServer, type TestServer } from '../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', open: (): Backend => dockerBackend() },
  { kind: 'fake', open: (): Backend => new FakeBackend() },
]

describeOn(KINDS, 'tmux sessions', ({ open }) => {
  let server: TestServer
  let backend: Backend
  const name = uniqueName('tmux')
  const empty = uniqueName('empty')
  const names = async () =>
    ((await server.api(`workspaces/${name}/sessions`)).body.sessions as { name: string }[]).map(
      (each) => each.name,
    )

  const tmux = async (...words: readonly string[]) => {
    const process = await backend.exec(name, {
      argv: ['tmux', '-u', ...words],
      environment: { LC_ALL: 'C.UTF-8' },
      stdin: false,
    })
    const [, errors, { status }] = await Promise.all([
      text(process.stdout),
      text(process.stderr),
      process.exitStatus,
    ])
    if (status !== 0) throw new Error(`tmux ${words.join(' ')}: ${errors}`)
  }

  beforeAll(async () => {
    backend = open()
    server = await startWorkspaceServer({ backends: () => [backend] })
    for (const each of [name, empty]) await server.create({ name: each })
  })
  afterAll(async () => {
    // In the fake backend, it would outlive its workspace.
    await tmux('kill-server')
    for (const each of [name, empty]) await server.api(`workspaces/${each}`, 'DELETE')
    await server.stop()
  })

  test('a workspace without a tmux server has no sessions', async () => {
    expect(await server.api(`workspaces/${empty}/sessions`)).toMatchObject({
      status: 200,
      body: { sessions: [] },
    })
  })

  test('sessions are listed with all their fields, in one workspace and across all', async () => {
    await tmux('new-session', '-d', '-s', 'main')
    await tmux('new-window', '-t', 'main')
    const expected = {
      name: 'main',
      workspace_name: name,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
      attached: false,
      window_count: 2,
    }
    expect((await server.api(`workspaces/${name}/sessions`)).body).toEqual({ sessions: [expected] })
    expect((await server.api('sessions')).body).toEqual({ sessions: [expected] })
  })

  test('names with non-ASCII letters are returned unchanged', async () => {
    await tmux('new-session', '-d', '-s', 'ünï 名')
    expect(await names()).toContain('ünï 名')
    expect(
      (await server.api(`workspaces/${name}/sessions/${encodeURIComponent('ünï 名')}`, 'DELETE')).status,
    ).toBe(204)
    expect(await names()).toEqual(['main'])
  })

  test('W6 a session is killed by its exact name, never by a tmux pattern', { tags: ['long'] }, async () => {
    await tmux('new-session', '-d', '-s', 'prod')
    const patterns = [
      'pro',
      'pro[d]',
      'p*',
      '*',
      '?rod',
      '=prod',
      '=pro',
      'prod:',
      'prod:0',
      'prod.0',
      ':',
      '.',
    ]
    const identifiers = [
      '$0',
      '$1',
      '=$1',
      '@0',
      '%0',
      '{last}',
      '!',
      '+',
      '-',
      '^',
      '-t',
      '#(touch /tmp/x)',
      '~',
    ]
    const targets = [...patterns, ...identifiers, ' prod', 'prod ', 'PROD', '\n', '\0']
    for (const target of targets) {
      const answer = await server.api(`workspaces/${name}/sessions/${encodeURIComponent(target)}`, 'DELETE')
      expect(answer.status, JSON.stringify(target)).toBe(404)
      expect(answer.body.error.code).toBe('SESSION_NOT_FOUND')
    }
    expect((await names()).toSorted()).toEqual(['main', 'prod'])
    expect((await server.api(`workspaces/${name}/sessions/prod`, 'DELETE')).status).toBe(204)
    expect(await names()).toEqual(['main'])
    expect((await server.api(`workspaces/${name}/sessions/prod`, 'DELETE')).status).toBe(404)
  })

  test('a missing or stopped workspace has its error code', async () => {
    expectError(await server.api('workspaces/nobody/sessions'), 404, 'WORKSPACE_NOT_FOUND')
    expectError(await server.api('workspaces/nobody/sessions/x', 'DELETE'), 404, 'WORKSPACE_NOT_FOUND')
    expectError(await server.api('workspaces/_api/sessions'), 400, 'INVALID_WORKSPACE_NAME')
    await server.api(`workspaces/${empty}/stop`, 'POST')
    for (const answer of [
      await server.api(`workspaces/${empty}/sessions`),
      await server.api(`workspaces/${empty}/sessions/main`, 'DELETE'),
    ]) {
      expectError(answer, 409, 'WORKSPACE_NOT_RUNNING')
    }
    expect((await server.api('sessions')).body.sessions).toHaveLength(1)
  })
})

test(
  'one workspace that does not respond delays the list by 3 s and hides no other',
  { tags: ['long'] },
  async () => {
    const backend = new FakeBackend()
    const server = await startWorkspaceServer({ backends: () => [backend] })
    for (const name of ['slow', 'quick']) await server.create({ name })
    backend.before.set('exec', () => {
      backend.before.set('exec', () => undefined)
      return new Promise(() => undefined)
    })
    expect(await server.api('sessions')).toMatchObject({ status: 200, body: { sessions: [] } })
    expect(server.log()).toContain('listing sessions failed')
    await server.stop()
  },
)
