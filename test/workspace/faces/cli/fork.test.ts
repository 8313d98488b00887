import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const backend = new FakeBackend()
let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
  for (const name of ['demo', 'taken-1']) await makeWorkspace(server.url, { name })
})
afterAll(() => server.stop())

const cli = (...argv: readonly string[]) => workspaceCli(argv, userEnvironment({ WORKSPACE_URL: server.url }))

test(
  'fork prints the names, whether programs continue, and for how long the source was paused',
  { tags: ['long'] },
  async () => {
    const without = await cli('fork', 'demo', '-n', '2', '--as', 'try', '--table')
    expect(without).toMatchObject({
      status: 0,
      stdout:
        'try-1\ntry-2\nforked from demo without its memory: programs do not continue; demo was paused for 5 ms\n',
    })
    backend.canSuspend = true
    expect((await cli('fork', 'demo', '--table')).stdout).toContain('forked from demo with its memory')
    expect((await cli('fork', 'demo', '--disk-only', '--table')).stdout).toContain('without its memory')
    const { stdout } = await cli('fork', 'demo')
    expect(JSON.parse(stdout)).toMatchObject({ memory: true, workspaces: [{ forked_from: 'demo' }] })
    expect(JSON.parse((await cli('show', 'try-1')).stdout)).toMatchObject({ forked_from: 'demo' })
  },
)

test.each([
  [['-n', '0'], 'number from 1 to 64'],
  [['-n', '65'], 'number from 1 to 64'],
  [['-n', '1e1'], 'number from 1 to 64'],
  [['--as', 'taken', '-n', '1'], 'choose other names'],
] as const)('fork refuses %j with the remedy', async (flags, remedy) => {
  const { status, stderr } = await cli('fork', 'demo', ...flags)
  expect(status).not.toBe(0)
  expect(stderr).toContain(remedy)
})
