import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { AuditLog } from '../../../src/workspace/audit/audit-log.ts'
import { auditEntries } from '../../support/workspace/server/audit-entries.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { fingerprint, openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { ask, serveInside } from '../../support/workspace/client/port-client.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

type Entry = Readonly<Record<string, unknown>>

async function start(settings: object = {}) {
  const file = join(tempDir(), 'audit.jsonl')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { audit: { file }, ...settings },
  })
  onTestFinished(() => server.stop())
  const entries = (action: string): readonly Entry[] =>
    (auditEntries(file) as Entry[])
      .filter((entry) => entry['action'] === action)
      .map(({ time: _time, action: _action, ...rest }) => rest)
  return { server, file, entries }
}

test('a login and entering a workspace are separate events, refusals with their reason', async () => {
  const { server, entries } = await start()
  await makeWorkspace(server.url, { name: 'demo' })
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())
  const who = { address: '127.0.0.1', fingerprint: fingerprint(ssh.keyFile) }
  const names = ['demo', '../g-b', '_api', 'constructor', 'none']
  for (const name of names) await ssh.run(name, 'true')
  await waitFor('all entries', () => entries('ssh.enter').length === names.length)
  expect(entries('ssh.login')).toEqual(names.map((workspace) => ({ workspace, ...who, outcome: 'ok' })))
  expect(entries('ssh.enter')).toEqual(
    names.map((workspace) =>
      workspace === 'demo'
        ? { workspace, ...who, outcome: 'ok' }
        : { workspace, ...who, outcome: 'failed', code: 'WORKSPACE_NOT_FOUND' },
    ),
  )
})

test('a refused login is one event, without the unproven key', async () => {
  const authorizedKeys = join(tempDir(), 'authorized_keys')
  writeFileSync(authorizedKeys, '')
  const { server, entries } = await start({ ssh: { port: 0, authorized_keys: authorizedKeys } })
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())
  await ssh.run('demo', 'true')
  await waitFor('the refusal', () => entries('ssh.login').length > 0)
  expect(entries('ssh.login')).toEqual([
    { workspace: 'demo', address: '127.0.0.1', outcome: 'refused', code: 'KEY_NOT_ALLOWED' },
  ])
})

const TOKEN = 'a-token-that-is-long-enough'

test('a wrong token is an event, a valid one is named in its actions, and neither is readable', async () => {
  const tokenFile = join(tempDir(), 'token')
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 })
  const { server, file, entries } = await start({ http: { port: 0, token_file: tokenFile } })
  const send = (token: string, path = '/api/workspaces', init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
  for (let i = 0; i < 20; i++) expect((await send(`wrong-token-${i}`)).status).toBe(401)
  await send(TOKEN, undefined, { method: 'POST', body: '{"name": "demo"}' })
  await waitFor('the creation', () => entries('workspace.create').length === 1)
  const refused = { workspace: '', address: '127.0.0.1', outcome: 'refused', code: 'UNAUTHORIZED' }
  expect(entries('api.refuse')).toEqual(Array.from({ length: 5 }, () => refused))
  expect(entries('workspace.create')).toMatchObject([
    { workspace: 'demo', token: expect.stringMatching(/^[0-9a-f]{8}$/), outcome: 'ok' },
  ])
  expect(readFileSync(file, 'utf8')).not.toMatch(/wrong-token|a-token/)
  // Including below a port's path.
  await fetch(`${server.url}/api/workspaces/demo/proxy/3000/`)
  await waitFor('the refusal', () => entries('port.enter').length === 1)
  expect(entries('port.enter')).toEqual([{ ...refused, workspace: 'demo', left_out: 15 }])
})

test('the first request to a port is an event, by host and by path, and later ones are not', async () => {
  const { server, entries } = await start()
  await makeWorkspace(server.url, { name: 'demo' })
  const { port } = await serveInside((_request, answer) => answer.end('here'))
  for (let i = 0; i < 3; i++) {
    expect((await fetch(`${server.url}/api/workspaces/demo/proxy/${port}/`)).status).toBe(200)
    await ask(server, `${port}--demo.localhost`)
  }
  await waitFor('the entry', () => entries('port.enter').length > 0)
  expect(entries('port.enter')).toEqual([{ workspace: 'demo', address: '127.0.0.1', outcome: 'ok' }])
})

test('a flood of refusals leaves a hundred lines a minute and a count of the rest', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  let nowMs = 1_000_000
  const logger = createLogger({ level: 'silent', format: 'json' })
  const log = await AuditLog.open(file, logger, { ...systemClock, wallMs: () => nowMs })
  const refuse = (address: string): void =>
    log.refuse({ action: 'ssh.login', workspace: 'demo', address }, 'KEY_NOT_ALLOWED')
  for (let i = 0; i < 10_000; i++) refuse(`10.0.${i % 100}.1`)
  nowMs += 60_000
  refuse('10.0.0.1')
  await log.close()
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  expect(lines).toHaveLength(101)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ outcome: 'refused', left_out: 9_900 })
})
