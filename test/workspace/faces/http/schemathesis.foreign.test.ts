import { describe, expect, onTestFinished, test } from 'vitest'
import { expectConformance, VERSION } from '../../../support/foreign/schemathesis.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { startTeamServer } from '../../../support/workspace/server/team-server.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const FORK = '/fork$'
const TEAM = '^/api/(users|login)|/access$'

describe(`schemathesis ${VERSION}`, () => {
  // Hundreds of requests, of which some create containers.
  test('workspace', { timeout: 600_000 }, async () => {
    const server = await startWorkspaceServer()
    onTestFinished(() => server.stop())
    onTestFinished(async () => {
      const { body } = await server.api('workspaces')
      for (const { name } of body.workspaces) await server.api(`workspaces/${name}`, 'DELETE')
    })
    // A request can create 64 forks, too many for the engine to do so quickly.
    const without = ['--exclude-path-regex', FORK]
    // DELETE /api/images/{name} accepts every name, also "pull".
    await expectConformance(
      'workspace',
      server.url,
      '--exclude-checks',
      'allow_header_conformance',
      ...without,
    )
  })

  test('forks of a workspace', async () => {
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
    onTestFinished(() => server.stop())
    await makeWorkspace(server.url, { name: 'demo' })
    await expectConformance('workspace', server.url, '--include-path-regex', FORK)
    const { body } = await server.api('workspaces')
    expect(body.workspaces.length).toBeGreaterThan(1)
  })

  test('users of a workspace server', async () => {
    const team = await startTeamServer({ ana: 'member' })
    onTestFinished(team.stop)
    await team.as('ana')('/api/workspaces', 'POST', { name: 'ana-demo' })
    const header = ['-H', `authorization: ${team.authorizationOf('')}`]
    await expectConformance('team', team.server.url, '--include-path-regex', TEAM, ...header)
  })
})
