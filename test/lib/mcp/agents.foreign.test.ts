import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { agentTools } from '../../../src/workspace/faces/cli/mcp/tools.ts'
import { foreignProgram, versionOf } from '../../support/foreign/clients.ts'
import { type DockerSsh, dockerSsh } from '../../support/workspace/ssh/docker-ssh.ts'
import { CLI, userEnvironment } from '../../support/workspace/client/workspace-cli.ts'

const client = [
  foreignProgram('python'),
  join(packageRoot, 'test/fixtures/foreign/python/mcp_client.py'),
] as const

describe(`MCP SDK for Python ${versionOf([...client, 'version'])}`, () => {
  let workspace: DockerSsh
  beforeAll(async () => {
    workspace = await dockerSsh()
  })
  afterAll(() => workspace.remove())

  test('lists and calls the tools of workspace mcp', async () => {
    const [python, script] = client
    const [node, program] = CLI
    const { status, stdout, stderr } = await run(
      python,
      [script, node, program, 'mcp', '--workspace', workspace.name],
      { environment: userEnvironment({ WORKSPACE_URL: workspace.server.url }) },
    )
    expect(status, stderr).toBe(0)
    const names = agentTools('work', workspace.name).map(({ tool }) => tool.name)
    expect(JSON.parse(stdout)).toEqual({
      tools: names.toSorted(),
      isWritten: true,
      ran: expect.stringMatching(/^exit status 7, \d+ ms\nstdout:\né$/),
      failed: true,
    })
  })
})
