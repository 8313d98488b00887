import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { agentTools } from '../../../../src/supervisor/faces/cli/mcp/tools.ts'
import { loadedPackages } from '../../../support/check/loaded-packages.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { askProxy } from '../../../support/supervisor/proxied.ts'
import { type SupervisorUser, supervisorUser } from '../../../support/supervisor/supervisor-cli.ts'
import { waitFor } from '../../../support/wait-for.ts'

type Ask = (name: string, given?: Record<string, unknown>) => Promise<string>

/** An agent with the protocol's own client; `ask` and `fail` return the text of an answer or error. */
async function agentOf(user: SupervisorUser, ...more: readonly string[]) {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [user.program, 'mcp', ...more],
      cwd: user.dir,
      env: user.environment as Record<string, string>,
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  const call = async (isError: true | undefined, name: string, given: Record<string, unknown> = {}) => {
    const answer = await client.callTool({ name, arguments: given })
    expect(answer.isError, JSON.stringify(answer.content)).toBe(isError)
    return (answer.content as [{ text: string }])[0].text
  }
  const ask: Ask = (name, given) => call(undefined, name, given)
  const fail: Ask = (name, given) => call(true, name, given)
  return { client, ask, fail }
}

test('an agent inspects and controls processes with the tools', async () => {
  const port = await freePort()
  const user = await supervisorUser(
    {
      web: {
        cmd: 'echo "first line"; echo "a warning" >&2; exec sleep 1000',
        proxy: { port: await freePort() },
      },
      broken: { cmd: 'exit 3', restart: 'never', groups: ['bad'] },
      quiet: { cmd: 'exec sleep 1000', groups: ['calm'] },
    },
    { proxy: { enabled: true, port, hold: '0s' } },
  )
  await user.up()
  const { client, ask, fail } = await agentOf(user)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(agentTools.map(({ tool }) => tool.name))
  expect(
    tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name),
  ).toEqual(['start', 'stop', 'restart'])
  await waitFor('the exit', async () => (await ask('status')).includes('broken | crashed'))
  expect(await ask('status')).toMatch(/^web \| running \| \d+ \|.*started by the supervisor/mu)
  expect(await ask('why', { name: 'broken' })).toMatch(/^reason: exited with status 3$/mu)

  expect(await ask('logs', { process: 'web' })).toMatch(
    /^2 lines match\n\d\d:\d\d:\d\d\.\d{3} web: first line\n\S+ web stderr: a warning$/u,
  )
  expect(await ask('logs', { grep: '^a w.*g$', regex: true })).toMatch(/^1 line matches\n\S+ web stderr/u)

  expect((await askProxy(port, '/lost')).status).toBe(502)
  expect(await ask('requests', { minStatus: 500 })).toMatch(/\/lost.*\b502\b/u)
  expect(await ask('requests', { maxStatus: 499 })).toMatch(/^requests: none$/mu)

  expect(await ask('stop', { name: 'web' })).toMatch(/^status: stopped$/mu)
  expect((await user.ask('/processes/web')).status).toBe('stopped')
  expect(await ask('start', { name: 'web' })).toMatch(/^status: running$/mu)
  expect(await ask('restart', { name: 'web' })).toMatch(/^restarts: 1$/mu)

  expect(await ask('status', { group: 'bad' })).not.toContain('web')
  expect(await ask('logs', { group: 'calm' })).toBe('0 lines match')
  expect(await ask('stop', { group: 'calm' })).toMatch(/^quiet \| stopped/mu)
  expect(await ask('start', { group: 'calm' })).toMatch(/^quiet \| running/mu)
  expect(await fail('restart', { group: 'clam' })).toBe(
    'group "clam" does not exist; the groups are bad, calm',
  )

  expect(await fail('why', { name: 'wbe' })).toBe('process "wbe" does not exist')
  expect(await fail('logs', { process: 'web,wbe' })).toBe('process "wbe" does not exist')
  expect(await fail('logs', { grep: '(', regex: true })).toMatch(/not a valid/u)
  expect(await fail('logs', { lines: 0 })).toBe('parameter "lines" must be from 1 to 2000, not 0')
  for (const given of [{}, { name: 'web', group: 'calm' }])
    expect(await fail('stop', given)).toBe('exactly one of the parameters "name" and "group" is required')
  expect(await fail('start', { name: 'web' })).toBe('process "web" is already running')
})

test('answers stay within the token budget, and offsets reach every line', async () => {
  const user = await supervisorUser({
    web: { cmd: 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "number $i"; done; exec sleep 1000' },
  })
  await user.up()
  const { ask } = await agentOf(user, '--max-tokens', '300')
  await waitFor('the lines', async () => (await ask('logs')).startsWith('300 lines match'))
  expect((await ask('logs')).length).toBeLessThanOrEqual(3 * 300)
  expect((await ask('logs', { maxTokens: 100 })).length).toBeLessThanOrEqual(3 * 100)
  const seen: number[] = []
  let offset: number | undefined = 0
  while (offset !== undefined && seen.length <= 300) {
    const text = await ask('logs', { offset })
    const numbers = [...text.matchAll(/number (\d+)$/gmu)].map(([, number]) => Number(number))
    seen.unshift(...numbers)
    const next: string | undefined = /continue with offset=(\d+)/u.exec(text)?.[1]
    offset = next === undefined ? undefined : Number(next)
  }
  expect(seen).toEqual(Array.from({ length: 300 }, (_, at) => at + 1))
})

test('an agent can start before the supervisor, and survives its restart', async () => {
  const user = await supervisorUser({ web: { cmd: 'exec sleep 1000' } })
  const { ask, fail } = await agentOf(user)
  expect(await fail('status')).toContain('start it with "supervisor up"')
  const first = await user.up()
  expect(await ask('status')).toContain('web | running')
  await user.supervisor('down')
  await first.ended
  expect(await fail('status')).toContain('start it with "supervisor up"')
  await user.up()
  expect(await ask('status')).toContain('web | running')
})

test('only mcp loads the modules of the protocol', async () => {
  const user = await supervisorUser({})
  const sdk = '@modelcontextprotocol/sdk'
  expect(await loadedPackages('supervisor', ['ps'], user.environment)).not.toContain(sdk)
  expect(await loadedPackages('supervisor', ['mcp'], user.environment)).toContain(sdk)
})
