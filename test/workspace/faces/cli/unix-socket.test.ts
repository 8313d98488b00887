import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

test('the CLI connects to a server on a Unix socket with its token', async () => {
  const directory = tempDir()
  const socket = join(directory, 'a b.sock')
  const token = join(directory, 'token')
  writeFileSync(token, `${randomUUID()}\n`)
  const server = await startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { http: { socket, token_file: token } },
  })
  onTestFinished(() => server.stop())
  const url = `unix://${socket.replace(' ', '%20')}`
  const environment = userEnvironment({ WORKSPACE_URL: url, WORKSPACE_TOKEN_FILE: token })
  const cli = (...argv: readonly string[]) => workspaceCli(argv, environment)

  expect((await cli('create', 'demo')).status).toBe(0)
  expect(JSON.parse((await cli('show', 'demo')).stdout)).toMatchObject({ name: 'demo', status: 'running' })
  expect(await cli('ssh', 'demo', 'echo here')).toMatchObject({ status: 0, stdout: 'here\n' })
  expect(await cli('connect', 'demo', '1')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/port 1\b/),
  })
  expect((await cli('rm', 'demo')).status).toBe(0)
  expect(await workspaceCli(['list'], userEnvironment({ WORKSPACE_URL: url }))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('token'),
  })
  expect(await workspaceCli(['list'], { ...environment, WORKSPACE_TOKEN_FILE: '/no/such' })).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/cannot read the token file of server .*\/no\/such.*set its path/),
  })
  expect(await workspaceCli(['list'], userEnvironment({ WORKSPACE_URL: 'unix:///no/such' }))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('unix:///no/such is not responding'),
  })
})
