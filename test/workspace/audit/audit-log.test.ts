import { chmodSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { AuditLog, type AuditSubject } from '../../../src/workspace/audit/audit-log.ts'
import { auditEntries } from '../../support/workspace/server/audit-entries.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { openHttpTunnel } from '../../support/http/http-tunnel.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

const logger = createLogger({ level: 'silent', format: 'json' })
const subject: AuditSubject = { action: 'ssh.login', workspace: 'demo', address: '192.0.2.1' }

test('the audit log records who did what with which outcome', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  const settings = { audit: { file }, idle_timeout: '1500ms' }
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ backends: () => [backend], settings })
  onTestFinished(() => server.stop())
  const api = (path: string, method: string, body?: unknown, headers = {}) =>
    server.api(`workspaces${path}`, method, body, headers)
  await api('', 'POST', { name: 'demo', idle: { stop_after: 0 } })
  await api('', 'POST', { name: 'demo' })
  await api('', 'POST', { name: 'a b' })
  await openHttpTunnel(`${server.url}/api/workspaces/demo/connect/9`)
  await api('/demo/sessions/none', 'DELETE')
  await api('/demo', 'PATCH', { idle: null })
  await waitFor('the idle stop', () => auditEntries(file).some(({ reason }) => reason === 'idle'))
  await api('/demo/stop', 'POST')
  await api('/demo/start', 'POST')
  await api('/demo', 'DELETE')
  await fetch(`${server.url}/api/workspaces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ name: 'other', repo: 'http://127.0.0.1:9/x.git' }),
  }).then((response) => response.text())
  await waitFor('the last entry', () => auditEntries(file).length === 11)
  const from = { time: expect.stringMatching(/^\d{4}-.*Z$/), address: '127.0.0.1' }
  const ok = { ...from, outcome: 'ok' }
  const failed = (code: string) => ({ ...from, outcome: 'failed', code })
  expect(auditEntries(file)).toEqual([
    { action: 'workspace.create', workspace: 'demo', ...ok },
    { action: 'workspace.create', workspace: 'demo', ...failed('WORKSPACE_ALREADY_EXISTS') },
    { action: 'workspace.create', workspace: 'a b', ...failed('INVALID_WORKSPACE_NAME') },
    { action: 'tunnel.open', workspace: 'demo', ...failed('CONNECT_FAILED') },
    { action: 'session.kill', workspace: 'demo', ...failed('SESSION_NOT_FOUND') },
    { action: 'workspace.set', workspace: 'demo', ...ok },
    { action: 'workspace.stop', workspace: 'demo', ...ok, address: '', reason: 'idle' },
    { action: 'workspace.stop', workspace: 'demo', ...failed('WORKSPACE_ALREADY_STOPPED') },
    { action: 'workspace.start', workspace: 'demo', ...ok },
    { action: 'workspace.delete', workspace: 'demo', ...ok },
    { action: 'workspace.create', workspace: 'other', ...failed('CLONE_FAILED') },
  ])
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
})

test('W12 no secret reaches the audit log or the log', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { audit: { file } },
  })
  const repo = 'http://user:canary-password@127.0.0.1:9/canary.git'
  const headers = { authorization: 'Bearer canary-token' }
  await server.create({ name: 'demo', repo }, headers)
  await server.create({ name: 'demo', repo: `${repo}?canary` }, headers)
  await server.stop()
  expect(auditEntries(file).map(({ code }) => code)).toEqual(['CLONE_FAILED', 'INVALID_REPO_URL'])
  expect(readFileSync(file, 'utf8')).not.toContain('canary')
  expect(server.log()).not.toMatch(/canary-(?:password|token)/)
})

test('the audit log appends to an existing file, and to a new one after a rename', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  for (const name of ['one', 'two']) {
    const log = await AuditLog.open(file, logger, systemClock)
    log.record({ ...subject, workspace: name }, { outcome: 'ok' })
    await log.close()
  }
  expect(auditEntries(file).map(({ workspace }) => workspace)).toEqual(['one', 'two'])
  const log = await AuditLog.open(file, logger, systemClock)
  renameSync(file, `${file}.1`)
  log.record({ ...subject, fingerprint: 'SHA256:x' }, { outcome: 'ok' })
  await log.close()
  expect(auditEntries(file)).toMatchObject([{ action: 'ssh.login', fingerprint: 'SHA256:x' }])
})

test('the audit log writes whole lines in order under concurrency and with any content', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  const log = await AuditLog.open(file, logger, systemClock)
  const names = Array.from({ length: 2_000 }, (_, i) => `${i}\n"${'x'.repeat(i)}`)
  for (const workspace of names) log.record({ ...subject, workspace }, { outcome: 'ok' })
  await log.close()
  expect(auditEntries(file).map(({ workspace }) => workspace)).toEqual(names.map((name) => name.slice(0, 80)))
})

test('a server whose audit file cannot be written does not start', async () => {
  const directory = tempDir()
  const settings = { audit: { file: directory } }
  await expect(startWorkspaceServer({ backends: () => [], settings })).rejects.toMatchObject({
    code: 'AUDIT_FILE_UNUSABLE',
    message: expect.stringContaining('change audit.file'),
  })
})

test('entries that cannot be written go to the log instead', async () => {
  const directory = tempDir()
  const file = join(directory, 'audit.jsonl')
  let lines = ''
  const destination = new PassThrough().setEncoding('utf8').on('data', (text: string) => (lines += text))
  const log = await AuditLog.open(
    file,
    createLogger({ level: 'info', format: 'json', destination }),
    systemClock,
  )
  // Nothing can be appended to a directory, not even by root.
  renameSync(file, `${file}.1`)
  symlinkSync(directory, file)
  chmodSync(directory, 0o700)
  log.record(subject, { outcome: 'failed', code: 'SOMETHING' })
  await log.close()
  expect(lines).toContain('audit entries could not be written')
  expect(lines).toContain('SOMETHING')
})
