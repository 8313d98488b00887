import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { queries } from '../../../../src/analyzer/api/queries.ts'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { type AnalyzerUser, analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { loadedPackages } from '../../../support/check/loaded-packages.ts'
import { waitFor } from '../../../support/wait-for.ts'

const program = join(packageRoot, 'src/bin/analyzer.ts')

/** An agent with the protocol's own client. */
async function agentOf(user: AnalyzerUser, root: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', '-p', root, '--mode', 'jar'],
      env: user.environment as Record<string, string>,
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  return client
}

test('every tool returns the answer of its command', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const agent = await agentOf(user, root)

  const { tools } = await agent.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...queries.map(([name]) => name),
    'explore',
    'status',
    'diagnostics',
    'lint',
    'rules',
    'impact',
    'refresh',
    'diff',
  ])
  for (const { inputSchema, description } of tools) {
    expect(description).toMatch(/\w/)
    for (const property of Object.values(inputSchema.properties ?? {}))
      expect(property).toMatchObject({ type: expect.any(String), description: expect.stringMatching(/\w/) })
  }

  const ask = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, structuredContent, isError } = await agent.callTool({ name, arguments: given })
    expect(isError, JSON.stringify(content)).toBeUndefined()
    expect(structuredContent).toBeUndefined()
    return (content as [{ text: string }])[0].text
  }
  const same: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
    ['stats', {}, ['classes', 'stats']],
    [
      'classes_list',
      { name: '*a*', size: 2, page: 1 },
      ['classes', 'list', '--name', '*a*', '--size', '2', '--page', '1'],
    ],
    ['class_show', { fqn: 'demo.Shapes' }, ['classes', 'show', 'demo.Shapes']],
    ['implementations', { fqn: 'demo.Shapes' }, ['classes', 'implementations', 'demo.Shapes']],
    ['hierarchy', { fqn: 'demo.Shapes$Circle' }, ['classes', 'hierarchy', 'demo.Shapes$Circle']],
    ['dependencies', { fqn: 'demo.Calls' }, ['classes', 'dependencies', 'demo.Calls']],
    [
      'annotation_usages',
      { fqn: 'java.lang.Deprecated', scope: 'all' },
      ['annotations', 'usages', 'java.lang.Deprecated'],
    ],
    ['methods_search', { returnType: 'void' }, ['methods', 'search', '--return-type', 'void']],
    ['calls', { fqn: 'demo.Calls', includeLambdas: true }, ['calls', 'demo.Calls', '--include-lambdas']],
    ['callers', { method: 'demo.Calls#one' }, ['callers', 'demo.Calls#one']],
    [
      'path',
      { from: 'demo.Calls', to: 'demo.Calls#one', limit: 2 },
      ['path', 'demo.Calls', 'demo.Calls#one', '--limit', '2'],
    ],
    [
      'xref',
      { fqn: 'demo.Shapes', kind: 'CALL_RECEIVER' },
      ['xref', 'demo.Shapes', '--kind', 'CALL_RECEIVER'],
    ],
    ['deps_graph', {}, ['deps', 'graph']],
    ['foundation', { minDependents: 1 }, ['deps', 'foundation', '--min-dependents', '1']],
    [
      'source_show',
      { fqn: 'demo.Shapes', format: 'signatures' },
      ['source', 'show', 'demo.Shapes', '-f', 'signatures'],
    ],
    [
      'source_method',
      { fqn: 'demo.Shapes$Square', method: 'local', context: 1 },
      ['source', 'method', 'demo.Shapes$Square', 'local', '-c', '1'],
    ],
    [
      'reach',
      { from: 'demo.Shapes', to: 'demo.Nothing,demo.Marked' },
      ['reach', '--from', 'demo.Shapes', '--to', 'demo.Nothing', 'demo.Marked'],
    ],
    ['dead', { from: 'test' }, ['dead', '--from', 'test']],
    ['cycles', { of: 'package' }, ['deps', 'cycles', '--of', 'package']],
    ['duplicates', { of: 'package' }, ['duplicates', '--of', 'package']],
    ['rules_infer', {}, ['rules', 'infer']],
  ]
  const compared = ['deps_check', ...same.map(([name]) => name)]
  expect(compared.toSorted()).toEqual(queries.map(([name]) => name).toSorted())
  for (const [name, given, argv] of same)
    expectWhole(await ask(name, { ...given, maxTokens: 1_000_000 }), await user.json(...argv, '-p', root))
  // Status 4 means that no build tool was asked.
  const unknown = await user.analyzer('deps', 'check', '-p', root)
  expect(unknown.status).toBe(4)
  expectWhole(await ask('deps_check', { maxTokens: 1_000_000 }), JSON.parse(unknown.stdout))
  // Status 1 means that there are violations.
  for (const severity of ['warning', 'error']) {
    const rule = `rules: [{id: a, reason: b, severity: ${severity}, mustNotUse: java.lang.String}]`
    writeFileSync(join(root, 'rules.yml'), rule)
    const { status, stdout } = await user.analyzer('rules', '-p', root, '--rules', join(root, 'rules.yml'))
    expect(status).toBe(severity === 'error' ? 1 : 0)
    expectWhole(await ask('rules', { rules: 'rules.yml', maxTokens: 1_000_000 }), JSON.parse(stdout))
  }
  expect(await ask('refresh')).toMatch(/^status: READY$/mu)
  expect(await ask('status')).toMatch(/^name: shop$/mu)
  expect(await ask('diagnostics')).toMatch(/none/u)
})

/** Expects every value in an answer with enough room; true values appear by name. */
function expectWhole(answer: string, value: unknown, key = ''): void {
  if (typeof value === 'object' && value !== null) {
    for (const [each, inner] of Object.entries(value)) expectWhole(answer, inner, each)
  } else if (typeof value === 'boolean') {
    if (value) expect(answer).toContain(key)
  } else if (
    (typeof value === 'string' || typeof value === 'number') &&
    !['page', 'pageSize', 'totalPages'].includes(key)
  ) {
    for (const line of String(value).split('\n')) expect(answer, key).toContain(line)
  }
}

test('an answer stays within its token budget and explains how to continue', async () => {
  const agent = await agentOf(analyzerUser(), builtProject())
  const ask = async (name: string, given: Record<string, unknown>) => {
    const { content } = await agent.callTool({ name, arguments: given })
    return (content as [{ text: string }])[0].text
  }
  for (const [name, given] of [
    ['hierarchy', { fqn: 'java.lang.Object' }],
    ['class_show', { fqn: 'java.lang.String' }],
    ['classes_list', { includeLibraries: true }],
    ['xref', { fqn: 'java.lang.String', includeLibraries: true }],
    ['explore', { fqn: 'String' }],
    ['path', { from: 'java.util.ArrayList', to: 'java.lang.Object#<init>', limit: 100 }],
    ['reach', { from: 'java.util.ArrayList', to: 'java.lang.Object#<init>', includeLibraries: true }],
    ['dead', { from: 'demo.Calls#one' }],
    ['deps_graph', {}],
  ] as const) {
    for (const maxTokens of [100, 1_000, 4_000])
      expect((await ask(name, { ...given, maxTokens })).length, name).toBeLessThan(4 * maxTokens + 600)
  }

  const namesIn = (answer: string) => answer.match(/^demo\.\S+(?= \|)/gmu) ?? []
  const all = namesIn(await ask('classes_list', { maxTokens: 100_000 }))
  const seen: string[] = []
  let offset: number | undefined = 0
  while (offset !== undefined && seen.length <= all.length) {
    const rest = await ask('classes_list', { maxTokens: 120, offset })
    seen.push(...namesIn(rest))
    const next: string | undefined = /continue with offset=(\d+)/u.exec(rest)?.[1]
    offset = next === undefined ? undefined : Number(next)
  }
  expect(all.length).toBeGreaterThan(10)
  expect(seen).toEqual(all)
})

test('an error is a tool error with the server’s message', async () => {
  const user = analyzerUser()
  const agent = await agentOf(user, builtProject())
  const errorOf = async (name: string, given: Record<string, unknown>) => {
    const { content, isError } = await agent.callTool({ name, arguments: given })
    expect(isError).toBe(true)
    return (content as [{ text: string }])[0].text
  }
  expect(await errorOf('class_show', { fqn: 'demo.Nothing' })).toBe(
    'class "demo.Nothing" is not in the project, its libraries or its JDK, and no class mentions it',
  )
  expect(await errorOf('class_show', {})).toBe('parameter "fqn" is missing')
  expect(await errorOf('classes_list', { names: 'x' })).toMatch(
    /^unknown parameter "names"; known parameters: package, name,/,
  )
  expect(await errorOf('classes_list', { size: '5' })).toBe(
    'parameter "size" must be of type integer, not "5"',
  )
  expect(await errorOf('classes_list', { size: 0 })).toBe('parameter "size" must be from 1 to 10000, not 0')
  expect(await errorOf('xref', { fqn: 'demo.Shapes', kind: 'X' })).toMatch(/^"kind" must be one of EXTENDS/)
  await expect(agent.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('unknown tool "nothing"')
})

test('a server is started, kept alive while the agent is connected, and restarted after it stopped', async () => {
  // Long enough that a busy machine does not make an idle server of a slow agent.
  const user = analyzerUser({ ANALYZER_SERVER__IDLE_TIMEOUT: '5s' })
  const root = builtProject()
  const agent = await agentOf(user, root)
  await agent.callTool({ name: 'stats', arguments: {} })
  const [first] = user.records()
  const startedMs = performance.now()
  await waitFor('twice the idle time', () => performance.now() - startedMs > 10_500)
  expect(user.records().map(({ pid }) => pid)).toEqual([first?.pid])

  await user.analyzer('stop', '-p', root)
  expect((await agent.callTool({ name: 'stats', arguments: {} })).isError).toBeUndefined()
  expect(user.records().map(({ pid }) => pid)).not.toEqual([first?.pid])

  await agent.close()
  await waitFor('the idle server to exit', () => user.records().length === 0)
})

test('only the protocol is on standard output, and the end of standard input stops it', async () => {
  const user = analyzerUser()
  const argv = [program, 'mcp', '-p', builtProject(), '--mode', 'jar']
  const child = spawn(process.execPath, argv, { env: user.environment, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = once(child, 'close')
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
  await once(child.stdout, 'readable')
  child.stdin.end()
  const lines = (await text(child.stdout)).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc)).toEqual(['2.0'])
  expect(await exit).toEqual([0, null])
})

test('a folder without a project is rejected before any output', async () => {
  const { status, stdout, stderr } = await analyzerUser().analyzer('mcp', '-p', '/')
  expect({ status, stdout }).toEqual({ status: 3, stdout: '' })
  expect(stderr).toMatch(/build definition file/)
})

test('other commands do not load the protocol’s modules', async () => {
  const { environment } = analyzerUser()
  const sdk = '@modelcontextprotocol/sdk'
  expect(await loadedPackages('analyzer', ['version'], environment)).not.toContain(sdk)
  expect(await loadedPackages('analyzer', ['list'], environment)).not.toContain(sdk)
  const argv = ['mcp', '-p', builtProject(), '--mode', 'jar']
  expect(await loadedPackages('analyzer', argv, environment)).toContain(sdk)
})
