import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  await makeWorkspace(server.url, { name: 'demo' })
})
afterAll(() => server.stop())

const cli = (...argv: readonly string[]) => workspaceCli(argv, userEnvironment({ WORKSPACE_URL: server.url }))

test('checkpoints are taken, listed, rewound to and deleted', { tags: ['long'] }, async () => {
  expect((await cli('checkpoints', 'demo', '--table')).stdout).toContain('workspace checkpoint demo')
  const { stdout } = await cli('checkpoint', 'demo', '--label', 'before the upgrade')
  const { id } = JSON.parse(stdout)
  expect((await cli('checkpoints', 'demo', '--table')).stdout).toMatch(
    new RegExp(`ID .*\\n${id} .* manual .*1 MiB .*before the upgrade`),
  )
  const rewound = await cli('rewind', 'demo', id, '--force', '--table')
  expect(rewound.status).toBe(0)
  const [, undo = ''] = /undo with: workspace rewind demo ([0-9a-f]{16})\n/.exec(rewound.stdout) ?? []
  expect((await cli('rewind', 'demo', undo, '--force')).status).toBe(0)
  expect((await cli('checkpoints', 'demo', '--delete', id, '--table')).stdout).toBe(
    `checkpoint ${id} of demo is deleted\n`,
  )
  expect(JSON.parse((await cli('checkpoints', 'demo')).stdout).checkpoints).toHaveLength(2)
})

test('a rewind without a terminal needs --force, and what does not exist is named', async () => {
  const refused = await cli('rewind', 'demo', '10m')
  expect([refused.status, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('--force')])
  expect(refused.status).not.toBe(0)
  for (const to of ['0000000000000000', '3650d']) {
    const { status, stderr } = await cli('rewind', 'demo', to, '--force')
    expect(status).not.toBe(0)
    expect(stderr).toContain(to)
  }
})
