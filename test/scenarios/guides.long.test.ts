import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { analyzerUser } from '../support/analyzer/analyzer-cli.ts'
import { removeLeftovers, uniqueName } from '../support/engine/docker.ts'
import { freePort } from '../support/services/free-port.ts'
import { serveRepository } from '../support/services/git-daemon.ts'
import { startDeviceProvider } from '../support/device-provider.ts'
import { tempDir } from '../support/temp-dir.ts'
import { blocksOf, runTranscript, type Stage, writeBlock } from '../support/transcript.ts'
import { startUpstream } from '../support/workspace/server/egress-proxy.ts'
import { serveCli, userEnvironment } from '../support/workspace/client/workspace-cli.ts'

vi.setConfig({ testTimeout: 120_000 })

/** The programs under the names that readers type, as `npm link` installs them. */
const PATH = [join(packageRoot, 'node_modules/.bin'), dirname(process.execPath), process.env['PATH']].join(
  delimiter,
)

/** Follows a guide from start to end: writes its files, runs its commands, checks its configs. */
async function expectGuide(
  page: string,
  stage: Stage,
  checkConfig: (file: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  let steps = 0
  for (const block of blocksOf(page)) {
    const { language, file, text } = block
    if (language === 'console') steps += await runTranscript(block, stage)
    else if (file !== undefined || language === 'yaml') {
      const written = writeBlock({ ...block, file: file ?? 'part.yaml' }, stage)
      // Belongs to another program.
      const isForeign = file?.startsWith('.github/') === true || file?.endsWith('cli.yaml') === true
      if (language === 'yaml' && !isForeign) await checkConfig(written)
      if (language === 'yaml') for (const { errors } of parseAllDocuments(text)) expect(errors).toEqual([])
    }
    if (language === 'json' && file === undefined) parse(text)
  }
  expect(steps).toBeGreaterThan(10)
}

function checkedBy(command: (file: string) => readonly string[], { environment, cwd }: Stage) {
  return async (file: string): Promise<void> => {
    const [program = '', ...argv] = command(file)
    const { status, stderr } = await run(program, argv, { environment, cwd })
    expect([status, stderr], readFileSync(file, 'utf8')).toEqual([0, ''])
  }
}

/** Replaces the default ports in a page with free ones. */
async function freePorts(...usual: readonly number[]): Promise<readonly (readonly [string, string])[]> {
  const pairs: [string, string][] = []
  for (const port of usual) pairs.push([String(port), String(await freePort())])
  return pairs
}

test('the workspace guide matches what happens', async () => {
  const cwd = tempDir()
  const daemon = await serveRepository('octocat/Hello-World', { README: 'Hello World!\n' })
  onTestFinished(() => daemon.stop())
  const [demo, trial] = [uniqueName('demo'), uniqueName('trial')]
  onTestFinished(async () => {
    await removeLeftovers(demo)
    await removeLeftovers(trial)
  })
  const user = userEnvironment({ PATH })
  const { httpPort, child, exit } = await serveCli({ ...user, WORKSPACE_DOCKER__NETWORK: 'host' })
  const stage: Stage = {
    cwd,
    environment: { ...user, WORKSPACE_URL: `http://127.0.0.1:${httpPort}` },
    stands: [
      ['--repo octocat/', `--repo ${daemon.url}octocat/`],
      ['https://github.com/', daemon.url],
      ['demo', demo],
      ['trial', trial],
      ['8080', String(httpPort)],
      ...(await freePorts(3000)),
    ],
    varies: [
      [/\d+(\.\d+)? [KMG]iB/g, 'SIZE'],
      [/^(workspaces \(.*\))  \d+/, '$1  FILES'],
      [/for \d+s$/, 'for AGE'],
    ],
    settles: /^curl /,
  }
  await expectGuide(
    'docs/guides/workspace.md',
    stage,
    checkedBy((file) => ['workspace', 'config', 'check', '--config', file], stage),
  )
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})

test('the guide on untrusted code matches what happens', async () => {
  const cwd = tempDir()
  const upstream = await startUpstream()
  onTestFinished(() => upstream.close())
  upstream.server.removeAllListeners('request')
  upstream.server.on('request', ({ headers }, response) => {
    const isKnown = headers.authorization === 'Bearer ghp_0123456789'
    response.end(isKnown ? '{"full_name":"acme/app","private":true}\n' : 'unauthorized\n')
  })
  const caFile = join(tempDir(), 'ca.pem')
  writeFileSync(caFile, upstream.authority.certificate)
  const [agent, attempt] = [uniqueName('agent'), uniqueName('attempt')]
  const ports = await freePorts(8080, 2222)
  const [http = '', ssh = ''] = ports.map(([, port]) => port)
  onTestFinished(async () => {
    for (const name of [agent, `${attempt}-1`, `${attempt}-2`]) await removeLeftovers(name)
  })
  const stage: Stage = {
    cwd,
    environment: {
      ...userEnvironment({ PATH }),
      WORKSPACE_STATE_DIR: tempDir(),
      WORKSPACE_HTTP__PORT: http,
      WORKSPACE_SSH__PORT: ssh,
      WORKSPACE_URL: `http://127.0.0.1:${http}`,
      WORKSPACE_EGRESS__CA_FILE: caFile,
    },
    stands: [
      ...ports,
      ['create agent ', `create ${agent} `],
      ['ssh agent ', `ssh ${agent} `],
      ['egress agent', `egress ${agent}`],
      ['fork agent ', `fork ${agent} `],
      ['rm agent', `rm ${agent}`],
      ['agent is', `${agent} is`],
      ['from agent ', `from ${agent} `],
      ['; agent was', `; ${agent} was`],
      ['attempt', attempt],
      [
        '- host: api.github.com\n          methods: [GET]',
        `- host: api.github.com\n          upstream: https://localhost:${upstream.port}\n          methods: [GET]`,
      ],
    ],
    varies: [
      [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
      [/paused for \d+ ms/, 'paused for MS ms'],
    ],
    settles: /^workspace create /,
    goesOn: ['workspace serve --config config.yaml'],
  }
  await expectGuide(
    'docs/guides/agents.md',
    stage,
    checkedBy((file) => ['workspace', 'config', 'check', '--config', file], stage),
  )
})

test('the guide for a team matches what happens', async () => {
  const cwd = tempDir()
  const account = { preferred_username: 'ana', groups: ['engineering'] }
  const { issuer } = await startDeviceProvider({ one: account }, 'one')
  const name = uniqueName('ana-demo')
  const ports = await freePorts(8080, 2222)
  const [http = '', ssh = ''] = ports.map(([, port]) => port)
  onTestFinished(() => removeLeftovers(name))
  const stateDir = tempDir()
  const environment = {
    ...userEnvironment({ PATH }),
    WORKSPACE_STATE_DIR: stateDir,
    WORKSPACE_URL: `http://127.0.0.1:${http}`,
    WORKSPACE_TOKEN_FILE: join(stateDir, 'token'),
    WORKSPACE_HTTP__PORT: http,
    WORKSPACE_SSH__PORT: ssh,
  }
  const stage: Stage = {
    cwd,
    environment,
    stands: [...ports, ['ana-demo', name], ['/home/ana', cwd], ['https://login.example.com', issuer]],
    varies: [
      [/user_code=[A-Z]{4}-[A-Z]{4}/, 'user_code=CODE'],
      [/until \d{4}-\d\d-\d\d/, 'until DATE'],
      [/SHA256:\S+\)/, 'SHA256:KEY)'],
      [/tok_[0-9a-f]{16}/, 'TOKEN'],
    ],
    settles: /^workspace user ls/,
    goesOn: ['workspace serve --config config.yaml'],
  }
  await expectGuide(
    'docs/guides/team.md',
    stage,
    checkedBy((file) => ['workspace', 'config', 'check', '--config', file], stage),
  )
})

test('the supervisor guide matches what happens', async () => {
  const cwd = tempDir()
  const ports = await freePorts(5555, 8088, 3000)
  const [api = '', proxy = ''] = ports.map(([, port]) => port)
  const stage: Stage = {
    cwd,
    environment: { PATH, HOME: tempDir(), SUPERVISOR_API__PORT: api, SUPERVISOR_PROXY__PORT: proxy },
    stands: [...ports, ['…/supervisor.yaml', join(cwd, 'supervisor.yaml')]],
    varies: [
      [/in AGE( \d+[smhd])?/, 'in AGE'],
      [/process \d+$/, 'process PID'],
      [/ (running|starting)  \d+ /, ' $1  PID '],
      [/^\d\d:\d\d:\d\d\.\d+/, 'TIME'],
      [/  \d+  (GET|POST)/, '  MS  $1'],
    ],
    settles: /^(supervisor (ps|logs|requests)|curl)\b/,
  }
  onTestFinished(async () => {
    await run('supervisor', ['down'], stage)
  })
  await expectGuide(
    'docs/guides/supervisor.md',
    stage,
    checkedBy((file) => ['supervisor', '-c', file, 'config', 'check'], stage),
  )
})

test('the content server guide matches what happens', async () => {
  const cwd = tempDir()
  const ports = await freePorts(8090)
  const [port = ''] = ports.map(([, each]) => each)
  const stage: Stage = {
    cwd,
    environment: { PATH, HOME: tempDir(), CONTENT_HTTP__PORT: port, CONTENT_LOG__FORMAT: 'pretty' },
    stands: ports,
    varies: [
      [/\$scrypt\$ln=17,r=8,p=1\$.+/, 'HASH'],
      [/^\[\d\d:\d\d:\d\d\]/, 'TIME'],
    ],
    goesOn: ['content-server -c docs.yaml serve'],
  }
  await expectGuide(
    'docs/guides/content-server.md',
    stage,
    checkedBy((file) => ['content-server', '-c', file, 'config', 'check'], stage),
  )
  const config = blocksOf('docs/guides/content-server.md').find(({ text }) => text.includes('mcpServers'))
  const { docs } = parse(config?.text.replace('8090', port).replace('/home/ann', cwd) ?? '').mcpServers
  const agent = new Client({ name: 'test', version: '1' })
  await agent.connect(new StdioClientTransport({ ...docs, env: { PATH, HOME: tempDir() }, cwd: tempDir() }))
  onTestFinished(() => agent.close())
  const { tools } = await agent.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['search', 'read_page', 'list_repos', 'list_pages'])
  const read = async (page: string) => {
    const answer = await agent.callTool({ name: 'read_page', arguments: { page } })
    return JSON.stringify(answer.content)
  }
  expect(await read('/repos/tea/')).toContain('First read about [kettles]')
  expect(await read('/repos/teapot/1.1/')).not.toContain('How to make it')
})

test('the analyzer guide matches what happens', async () => {
  const cwd = join(tempDir(), 'shop')
  mkdirSync(cwd)
  const { environment } = analyzerUser({ PATH })
  await expectGuide('docs/guides/analyzer.md', { cwd, environment, stands: [['…/shop', cwd]] })
})
