import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startTeamServer } from '../../support/workspace/server/team-server.ts'

test('the error for a missing token differs from that for an invalid one', async () => {
  const team = await startTeamServer({ ana: 'member' }, { backends: () => [new FakeBackend()] })
  onTestFinished(team.stop)
  const ask = (headers: Readonly<Record<string, string>>) =>
    team.server.api('workspaces', 'GET', undefined, headers)
  const missing = await ask({})
  expect([missing.status, missing.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  expect(missing.body.error.message).toContain('requires its token')
  const { tokens } = (await team.as('ana')('/api/users/me')).body
  const valid = { authorization: team.authorizationOf('ana') }
  expect((await ask(valid)).status).toBe(200)
  await team.as('')(`/api/users/ana/tokens/${tokens[0].id}`, 'DELETE')
  for (const headers of [
    valid,
    { authorization: 'Bearer of-another-server' },
    { authorization: 'Basic YTpi' },
  ]) {
    const { status, body } = await ask(headers)
    expect([status, body.error.message]).toEqual([
      401,
      expect.stringContaining('is not valid on this server'),
    ])
  }
})
