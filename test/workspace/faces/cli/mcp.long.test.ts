import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../../src/workspace/client/sdk/connect.ts'
import { loadedPackages } from '../../../support/check/loaded-packages.ts'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { installInterpreters } from '../../../support/workspace/guest/interpreters.ts'
import { CLI, userEnvironment } from '../../../support/workspace/client/workspace-cli.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
const name = uniqueName('mcp')
const environment = () => userEnvironment({ WORKSPACE_URL: server.url })
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
  await makeWorkspace(server.url, { name })
})
afterAll(async () => {
  await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
})

/** An agent with the protocol's own client; `ask` and `fail` return the text of an answer or error. */
async function agentOf(...options: readonly string[]) {
  const [node, program] = CLI
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: node,
      args: [program, 'mcp', ...options],
      env: environment() as Record<string, string>,
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  const use = async (isError: true | undefined, tool: string, args: Record<string, unknown>) => {
    const answer = await client.callTool({ name: tool, arguments: args })
    expect(answer.isError, JSON.stringify(answer.content)).toBe(isError)
    return (answer.content as [{ text: string }])[0].text
  }
  return {
    client,
    ask: (tool: string, args = {}) => use(undefined, tool, args),
    fail: (tool: string, args = {}) => use(true, tool, args),
  }
}

describe('an agent limited to one workspace', () => {
  test('runs commands', async () => {
    const { ask } = await agentOf('--workspace', name)
    expect(await ask('run', { command: 'echo out; echo error >&2; exit 4' })).toMatch(
      /^exit status 4, \d+ ms\nstdout:\nout\nstderr:\nerror$/,
    )
    expect(await ask('run', { command: 'cat', stdin: 'given' })).toMatch(
      /^exit status 0, \d+ ms\nstdout:\ngiven$/,
    )
    expect(await ask('run', { command: 'sleep 60', timeoutSeconds: 1 })).toMatch(
      /^exit status 143(?: \(SIGTERM\))?, timed out, \d+ ms$/,
    )
    expect(await ask('run', { command: 'pwd', cwd: '/tmp' })).toContain('\n/tmp')
  })

  test('gets the end of long output within its budget', async () => {
    const { ask } = await agentOf('--workspace', name, '--max-tokens', '200')
    const text = await ask('run', { command: 'seq 100000; echo last; echo problem >&2' })
    expect(text.length).toBeLessThanOrEqual(3 * 200)
    expect(text).toMatch(/^stdout \(the first \d+ characters are omitted\):$/m)
    expect(text).toMatch(/100000\nlast\nstderr:\nproblem$/)
  })

  test('writes, reads in pages, edits, lists and removes files', async () => {
    const { ask, fail } = await agentOf('--workspace', name)
    const path = 'agent/numbers.txt'
    const lines = Array.from({ length: 300 }, (_, at) => `number ${at}`)
    expect(await ask('write_file', { path, content: `${lines.join('\n')}\n`, mode: '640' })).toBe(
      `${lines.join('\n').length + 1} bytes written to ${path}`,
    )
    const seen: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page = await ask('read_file', { path, offset, maxTokens: 400 })
      expect(page.length).toBeLessThanOrEqual(3 * 400)
      seen.push(...page.split('\n').filter((line) => !line.startsWith('…')))
      const next: string | undefined = /continue with offset=(\d+)/.exec(page)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen).toEqual(lines)
    expect(await fail('edit_file', { path, from: 'number 1', to: 'x' })).toMatch(
      /contains the text 111 times/,
    )
    expect(await fail('edit_file', { path, from: 'number 999', to: 'x' })).toMatch(
      /does not contain the text/,
    )
    await ask('edit_file', { path, from: 'number 299', to: 'the $& end' })
    expect(await ask('run', { command: `tail -n 1 ${path}; stat -c %a ${path}` })).toContain(
      'the $& end\n640',
    )
    expect(await ask('list_files', { path: 'agent' })).toContain('numbers.txt')
    await ask('run', { command: "printf '\\000' > agent/binary" })
    expect(await fail('read_file', { path: 'agent/binary' })).toMatch(/not a text file/)
    expect(await fail('remove_file', { path: 'agent' })).toMatch(/not empty/)
    await ask('remove_file', { path: 'agent', recursive: true })
    expect(await fail('read_file', { path })).toMatch(/does not exist/)
  })

  test('runs programs in the background', async () => {
    const { ask } = await agentOf('--workspace', name)
    const started = await ask('start_process', { command: 'read -r line; echo "got $line"; sleep 60' })
    const id = /^id: ([0-9a-f]+)$/m.exec(started)?.[1]
    await ask('process_input', { id, text: 'hello\n' })
    await expect.poll(() => ask('process_output', { id })).toBe('running; next=10\noutput:\ngot hello')
    expect(await ask('process_output', { id, after: 10 })).toBe('running; next=10')
    await ask('signal_process', { id })
    await expect.poll(() => ask('process_output', { id, after: 10 })).toBe('ended, exit status 143; next=10')
    expect(await ask('processes')).toContain(String(id))
  })

  test('runs code that keeps its state', async () => {
    await installInterpreters(await connect({ url: server.url }).get(name))
    const { ask, fail } = await agentOf('--workspace', name)
    expect(await ask('run_code', { code: 'x = [1]\nprint("out")\nx' })).toMatch(
      /^succeeded, \d+ ms\nstdout:\nout\nresults:\n\[1\] \(also application\/json\)$/,
    )
    expect(await ask('run_code', { code: 'x[1]' })).toMatch(
      /^failed with IndexError, \d+ ms\nerror:\nTraceback[^]*IndexError: list index out of range$/,
    )
    expect(await ask('run_code', { code: 'await 7', language: 'javascript' })).toContain('results:\n7')
    const bounded = await ask('run_code', { code: 'print("x" * 10_000)\n"y" * 10_000', maxTokens: 300 })
    expect(bounded.length).toBeLessThanOrEqual(3 * 300)
    expect(await fail('run_code', { code: '1', language: 'perl' })).toMatch(/language/)
  })

  test('waits for the port of a server that it started', async () => {
    const { ask, fail } = await agentOf('--workspace', name)
    const port = await freePort()
    expect(await fail('wait_for_port', { port, timeoutSeconds: 1 })).toMatch(/nothing listens on port/)
    const listen = `$s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:${port}") or die; sleep`
    const started = await ask('start_process', { command: `exec perl -MIO::Socket::INET -e '${listen}'` })
    expect(await ask('wait_for_port', { port })).toContain(`port: ${port}`)
    await ask('signal_process', { id: /^id: ([0-9a-f]+)$/m.exec(started)?.[1] })
  })

  test('sees no other workspace, and cannot create or delete one', async () => {
    const { client, fail } = await agentOf('--workspace', name, '--access', 'manage')
    const { tools } = await client.listTools()
    const names = tools.map((tool) => tool.name)
    expect(names).not.toContain('workspaces')
    expect(names).not.toContain('create_workspace')
    for (const { inputSchema } of tools) expect(inputSchema.properties).not.toHaveProperty('workspace')
    expect(await fail('run', { command: 'true', workspace: 'other' })).toMatch(
      /unknown parameter "workspace"/,
    )
  })
})

describe('levels of access', () => {
  test('an agent that may only look gets only tools that change nothing', async () => {
    const { client } = await agentOf('--access', 'read')
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(5)
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
    await expect(
      client.callTool({ name: 'run', arguments: { workspace: name, command: 'true' } }),
    ).rejects.toThrow(/unknown tool/)
  })

  test('an agent that manages creates, stops and deletes workspaces', async () => {
    const { client, ask, fail } = await agentOf('--access', 'manage')
    const { tools } = await client.listTools()
    const isDestructive = (tool: string) =>
      tools.find((each) => each.name === tool)?.annotations?.destructiveHint
    expect(isDestructive('delete_workspace')).toBe(true)
    expect(isDestructive('create_workspace')).toBe(false)
    const own = uniqueName('agent')
    onTestFinished(async () => {
      for (const each of [`${own}-1`, own]) await server.api(`workspaces/${each}`, 'DELETE')
    })
    expect(await ask('create_workspace', { name: own })).toMatch(/^status: running$/m)
    expect(await ask('workspaces')).toContain(own)
    expect(await ask('run', { workspace: own, command: 'echo in $HOSTNAME' })).toContain('exit status 0')
    await ask('write_file', { workspace: own, path: 'kept', content: 'before' })
    const [id = ''] = /[0-9a-f]{16}/.exec(await ask('checkpoint_workspace', { workspace: own })) ?? []
    await ask('run', { workspace: own, command: 'rm kept' })
    expect(await ask('rewind_workspace', { workspace: own, to: id })).toMatch(/undone_by/)
    expect(await ask('read_file', { workspace: own, path: 'kept' })).toContain('before')
    expect(await ask('checkpoints', { workspace: own })).toContain(id)
    expect(await ask('fork_workspace', { workspace: own, prefix: own })).toContain(`${own}-1 | running`)
    expect(await ask('delete_workspace', { workspace: `${own}-1` })).toContain('is deleted')
    const settings = {
      ttl_s: 86_400,
      expire_action: 'delete',
      suspend_after: '15m',
      // Otherwise the one that is stopped below would start again.
      wake: false,
      stop_at: 'Mon-Fri 19:00',
    }
    expect(await ask('set_workspace', { workspace: own, ...settings })).toMatch(/expire_action: delete/)
    expect(await ask('set_workspace', { workspace: own, ttl_s: 0 })).not.toMatch(/expires_at/)
    expect(await fail('set_workspace', { workspace: own, stop_at: 'Blursday' })).toMatch(/Blursday/)
    expect(await fail('set_workspace', { workspace: own, expire_action: 'explode' })).toMatch(/explode/)
    expect(await ask('stop_workspace', { workspace: own })).toMatch(/^status: stopped$/m)
    expect(await fail('run', { workspace: own, command: 'true' })).toMatch(/is stopped, not running/)
    expect(await ask('delete_workspace', { workspace: own })).toBe(`workspace ${own} is deleted`)
    expect(await fail('workspace', { workspace: own })).toMatch(/does not exist/)
  })

  test('without it, no tool deletes a workspace', async () => {
    const { client } = await agentOf()
    const names = (await client.listTools()).tools.map((tool) => tool.name)
    expect(names).toContain('run')
    expect(names).not.toContain('delete_workspace')
    expect(names).not.toContain('create_workspace')
  })
})

test('only mcp loads the modules of the protocol', async () => {
  const sdk = '@modelcontextprotocol/sdk'
  expect(await loadedPackages('workspace', ['list'], environment())).not.toContain(sdk)
  expect(await loadedPackages('workspace', ['mcp'], environment())).toContain(sdk)
})
