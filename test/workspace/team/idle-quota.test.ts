import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startTeamServer } from '../../support/workspace/server/team-server.ts'

test("the idle quota stops members' workspaces, and not those of administrators", async () => {
  const limited = await startTeamServer(
    { root: 'administrator', ana: 'member' },
    {
      backends: () => [new FakeBackend()],
      settings: { idle_timeout: '2s', team: { quota: { idle: '1s' } } },
    },
  )
  onTestFinished(limited.stop)
  for (const [user, name] of [
    ['root', 'demo'],
    ['ana', 'ana-demo'],
  ] as const)
    await limited.as(user)('/api/workspaces', 'POST', { name, idle: { stop_after: '1h' } })
  const look = async (name: string) => (await limited.as('root')(`/api/workspaces/${name}`)).body
  await expect.poll(async () => (await look('ana-demo')).status).toBe('stopped')
  expect(JSON.stringify(await look('ana-demo'))).toContain('it was idle for team.quota.idle')
  expect((await look('demo')).status).toBe('running')
})
