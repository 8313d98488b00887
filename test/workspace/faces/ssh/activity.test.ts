import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { auditEntries } from '../../../support/workspace/server/audit-entries.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('an SSH login is audited with its key and keeps its workspace from being stopped as idle', async () => {
  const file = join(tempDir(), 'audit.jsonl')
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { audit: { file }, idle_timeout: '1s' },
  })
  onTestFinished(() => server.stop())
  const statusOf = async (name: string) => (await server.api(`workspaces/${name}`)).body.status as string
  await makeWorkspace(server.url, { name: 'used', idle: { stop_after: 0 } })
  await makeWorkspace(server.url, { name: 'idle' })
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())
  const client = spawn('ssh', [...ssh.argv('used'), 'sleep 60'], { stdio: 'ignore' })
  onTestFinished(() => void client.kill())

  await waitFor('the login', () => auditEntries(file).some(({ action }) => action === 'ssh.login'))
  await server.api('workspaces/used', 'PATCH', { idle: null })
  await waitFor('the idle one to be stopped', async () => (await statusOf('idle')) === 'stopped')
  expect(await statusOf('used')).toBe('running')
  client.kill()
  await waitFor(
    'the other, after its user has disconnected',
    async () => (await statusOf('used')) === 'stopped',
  )

  const { stdout } = await run('ssh-keygen', ['-lf', `${ssh.keyFile}.pub`])
  const logins = auditEntries(file).filter(({ action }) => action === 'ssh.login')
  expect(logins).toEqual([
    {
      time: expect.any(String),
      action: 'ssh.login',
      workspace: 'used',
      address: '127.0.0.1',
      fingerprint: stdout.split(' ')[1],
      outcome: 'ok',
    },
  ])
})
