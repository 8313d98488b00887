import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { startAnalyzer } from '../support/analyzer/analyzer-server.ts'
import { mavenProject } from '../support/analyzer/maven-project.ts'
import { startContent } from '../support/content/content-server.ts'
import { foreignProgram, versionOf } from '../support/foreign/clients.ts'
import { startSupervisor } from '../support/supervisor/supervisor.ts'
import { tempDir } from '../support/temp-dir.ts'
import { runProgram } from '../support/workspace/open-ssh.ts'
import { FakeBackend } from '../support/workspace/fake-backend.ts'
import { startTeamServer } from '../support/workspace/team-server.ts'
import { call, makeWorkspace, startWorkspaceServer } from '../support/workspace/workspace-server.ts'

const schemathesis = foreignProgram('schemathesis')
const FORK = '/fork$'
const TEAM = '^/api/(users|login)|/access$'
const EXAMPLES = process.env['SCHEMATHESIS_EXAMPLES'] ?? '20'

/** Requests that fit a server's description, and some that do not; the expected statuses are in schemathesis.toml. */
async function check(program: string, url: string, ...options: readonly string[]): Promise<void> {
  const config = join(packageRoot, 'test/fixtures/foreign/schemathesis', `${program}.toml`)
  const run = [
    'run',
    `${url}/openapi.json`,
    '--phases',
    'examples,coverage,fuzzing',
    '-c',
    'all',
    '--seed',
    '1',
  ]
  const more = ['--max-examples', EXAMPLES, '--request-timeout', '30', '--no-color', ...options]
  const { status, stdout } = await runProgram('env', [
    '-C',
    tempDir(),
    schemathesis,
    '--config-file',
    config,
    ...run,
    ...more,
  ])
  const output = stdout.toString()
  if (status !== 0) throw new Error(output.slice(output.indexOf('= FAILURES')).slice(0, 20_000))
  expect(output).toMatch(/[1-9]\d* generated/)
}

const project = mavenProject()

describe(`schemathesis ${versionOf([schemathesis, '--version'])}`, () => {
  test('workspace', async () => {
    const server = await startWorkspaceServer()
    onTestFinished(() => server.stop())
    onTestFinished(async () => {
      const { body } = await call(`${server.url}/api/workspaces`)
      for (const { name } of body.workspaces) await call(`${server.url}/api/workspaces/${name}`, 'DELETE')
    })
    // A request can create 64 forks, too many for the engine to do so quickly.
    const without = ['--exclude-path-regex', FORK]
    // DELETE /api/images/{name} accepts every name, also "pull".
    await check('workspace', server.url, '--exclude-checks', 'allow_header_conformance', ...without)
  })

  test('forks of a workspace', async () => {
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
    onTestFinished(() => server.stop())
    await makeWorkspace(server.url, { name: 'demo' })
    await check('workspace', server.url, '--include-path-regex', FORK)
    const { body } = await call(`${server.url}/api/workspaces`)
    expect(body.workspaces.length).toBeGreaterThan(1)
  })

  test('users of a workspace server', async () => {
    const team = await startTeamServer({ ana: 'member' })
    onTestFinished(team.stop)
    await team.as('ana')('/api/workspaces', 'POST', { name: 'ana-demo' })
    const header = ['-H', `authorization: ${team.authorizationOf('')}`]
    await check('team', team.server.url, '--include-path-regex', TEAM, ...header)
  })

  test('supervisor', async () => {
    const web = { command: 'echo ready; sleep 1000', subdomain: 'web' }
    const { url } = await startSupervisor({ web }, { proxy: { port: 0 } })
    await check('supervisor', url)
  })

  test('content server', async () => {
    const page = '<!doctype html><title>Guide</title><h1>Start</h1><p>words'
    const { url, cookie } = await startContent({ 'repos/guide/index.html': page })
    await check('content', url, '-H', `cookie: ${cookie}`)
  })

  test('analyzer', async () => {
    const server = await startAnalyzer(project.root)
    onTestFinished(server.stop)
    await check('analyzer', server.url, '-H', `authorization: Bearer ${server.token}`)
  })
})
