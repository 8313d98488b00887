import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { identityOf, isRunning } from '../../../src/lib/process/process-identity.ts'
import { FAULT_KINDS, type FaultKind } from '../../../src/workspace/torture/kinds.ts'
import { privateEnvironment } from '../../../src/workspace/torture/private-settings.ts'
import { isClean, type TortureReport } from '../../../src/workspace/torture/report.ts'
import {
  type ServerCommand,
  startServer,
  type StartServer,
} from '../../../src/workspace/torture/server-process.ts'
import { torture } from '../../../src/workspace/torture/torture.ts'
import { docker } from '../../support/engine/docker.ts'
import { waitFor } from '../../support/wait-for.ts'
import { spawnCli, userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { SEED } from '../../support/seed.ts'

const SETTINGS = {
  docker: { network: 'host' },
  http: { port: 0 },
  ssh: { port: 0 },
  log: { format: 'json' },
}

function run(options: {
  readonly durationMs: number
  readonly kinds: readonly FaultKind[]
  readonly start?: StartServer
}): Promise<TortureReport> {
  return torture({
    ...options,
    seed: SEED,
    entry: join(packageRoot, 'src/bin/workspace.ts'),
    settings: SETTINGS,
    environment: privateEnvironment(process.env),
    engine: undefined,
    signal: new AbortController().signal,
    progress: () => undefined,
    settleMs: 4_000,
  })
}

/** Returns the directories of runs. */
function directories(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => /^workspace-torture-\w{6}$/.test(name))
}

test('a server loses nothing, doubles nothing and leaves nothing', async () => {
  const before = directories()
  const report = await run({ durationMs: 20_000, kinds: FAULT_KINDS })
  expect(report.findings).toEqual([])
  expect(report.remnants).toEqual([])
  expect(isClean(report), JSON.stringify(report)).toBe(true)
  expect(report.faults.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0)
  expect(report.acknowledged.get('create')).toBeGreaterThan(0)
  expect(report.acknowledged.get('write')).toBeGreaterThan(0)
  expect(directories()).toEqual(before)
})

/** Starts servers, from the second one on with damage. */
function damaging(damage: (command: ServerCommand, ids: readonly string[]) => void): StartServer {
  let starts = 0
  return (command) => {
    if (starts++ > 0) damage(command, containersOf(command))
    return startServer(command)
  }
}

/** Returns the ids of a server's containers. */
function containersOf(command: ServerCommand): readonly string[] {
  return objectsOf(command, 'ps', '-a')
}

function objectsOf({ stateDir }: ServerCommand, ...list: readonly string[]): readonly string[] {
  const filter = `label=workspace.server_id=${serverIdOf(stateDir)}`
  const ids = execFileSync('docker', [...list, '-q', '--filter', filter], { encoding: 'utf8' })
  return ids.split('\n').filter((id) => id !== '')
}

function serverIdOf(stateDir: string): string {
  return readFileSync(join(stateDir, 'server-id'), 'utf8').trim()
}

/** Runs a script where a run's files are, in every workspace that runs. */
function inside(script: string) {
  return (_command: ServerCommand, ids: readonly string[]): void => {
    for (const id of ids)
      try {
        execFileSync('docker', ['exec', id, 'sh', '-c', `cd /workspace/torture && ${script}`], {
          stdio: 'ignore',
        })
      } catch {
        // It does not run, or has no files yet.
      }
  }
}

test.each<readonly [string, Parameters<typeof damaging>[0], string, RegExp]>([
  [
    'a changed byte',
    inside('for f in f*; do [ ! -e $f ] || printf x | dd of=$f bs=1 count=1 conv=notrunc; done'),
    'changed',
    /^file f\d+ of/,
  ],
  ['a removed file', inside('rm -f f*'), 'lost', /^file f\d+ of/],
  ['a repeated line', inside('[ ! -e lines ] || head -n 1 lines >>lines'), 'doubled', /^line .* \d times$/],
  [
    'a setting that was not written',
    ({ stateDir }) => rmSync(join(stateDir, 'settings'), { recursive: true, force: true }),
    'lost',
    /^label k\d of/,
  ],
  [
    'a lost workspace',
    (command, ids) => {
      for (const id of ids) execFileSync('docker', ['rm', '-f', id], { stdio: 'ignore' })
      for (const name of objectsOf(command, 'volume', 'ls')) execFileSync('docker', ['volume', 'rm', name])
      rmSync(join(command.stateDir, 'settings'), { recursive: true, force: true })
    },
    'lost',
    /^workspace .* whose creation was acknowledged/,
  ],
])('%s is found', async (_name, damage, kind, what) => {
  const report = await run({ durationMs: 60_000, kinds: ['server'], start: damaging(damage) })
  onTestFinished(() => rmSync(report.logFile ?? '', { force: true }))
  expect(isClean(report)).toBe(false)
  expect(report.findings).toContainEqual({ kind, what: expect.stringMatching(what) })
  expect(new Set(report.findings.map((finding) => finding.kind))).toEqual(new Set([kind]))
  expect(report.remnants).toEqual([])
})

function volumeArguments(volume: string, serverId: string, owner: string): readonly string[] {
  const labels = [`workspace.server_id=${serverId}`, `workspace.name=${owner}`]
  return ['volume', 'create', ...labels.flatMap((label) => ['--label', label]), volume]
}

/** Relays a port of 127.0.0.1, and changes a byte of every large piece: of files and tunnels, but not of headers. */
async function corruptingPort(port: number): Promise<number> {
  const relay = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const corrupt = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (chunk.length > 32_768) chunk[20_000] = (chunk[20_000] ?? 0) ^ 1
        done(null, chunk)
      },
    })
    for (const socket of [near, far])
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((each) => each.destroy()))
    near.pipe(corrupt).pipe(far)
    far.pipe(near)
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void relay.close())
  return (relay.address() as AddressInfo).port
}

test('a byte that changes on its way is found', async () => {
  const start: StartServer = (command) => {
    const { ready, kill } = startServer(command)
    const corrupted = ready.then(async (server) => ({
      ...server,
      httpPort: await corruptingPort(server.httpPort),
    }))
    corrupted.catch(() => undefined)
    return { kill, ready: corrupted }
  }
  const report = await run({ durationMs: 60_000, kinds: ['clock'], start })
  onTestFinished(() => rmSync(report.logFile ?? '', { force: true }))
  expect(new Set(report.findings.map(({ kind }) => kind))).toEqual(new Set(['changed']))
  expect(report.findings[0]?.what).toMatch(/^bytes through port \d+ of workspace |^file f\d+ of workspace /)
})

test('a server that does not start again is found, and its workspaces are removed', async () => {
  let starts = 0
  let serverId = ''
  const start: StartServer = (command) => {
    if (starts++ === 0) return startServer(command)
    serverId = serverIdOf(command.stateDir)
    return { ready: Promise.reject(new Error('planted')), kill: () => Promise.resolve() }
  }
  const report = await run({ durationMs: 60_000, kinds: ['server'], start })
  onTestFinished(() => rmSync(report.logFile ?? '', { force: true }))
  expect(report.findings).toContainEqual({ kind: 'stuck', what: 'after a fault of kind server: planted' })
  expect(new Set(report.findings.map(({ kind }) => kind))).toEqual(new Set(['stuck']))
  expect(report.remnants).toEqual([])
  expect(await docker('ps', '-aq', '--filter', `label=workspace.server_id=${serverId}`)).toBe('')
})

/** Starts servers with a child process that outlives them and keeps their log open. */
const leaving: StartServer = (command) => {
  const script = `import { spawn } from 'node:child_process'
    if (process.argv.includes('serve')) spawn('sleep', ['600'], { stdio: ['ignore', 'ignore', 'inherit'] }).unref()`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`
  return startServer({ ...command, environment: { ...command.environment, NODE_OPTIONS } })
}

test('a process that outlives its server is found and killed', async () => {
  const report = await run({ durationMs: 8_000, kinds: ['server'], start: leaving })
  onTestFinished(() => rmSync(report.logFile ?? '', { force: true }))
  const pids = report.findings.map(({ what }) => /^process (\d+), whose server has ended$/.exec(what)?.[1])
  expect(pids.length).toBeGreaterThan(0)
  expect(pids).not.toContain(undefined)
  for (const pid of pids) expect(isRunning(identityOf(Number(pid)))).toBe(false)
  expect(report.remnants).toEqual([])
})

test('a run that is interrupted reports what it has and removes everything', async () => {
  const before = directories()
  const environment = userEnvironment({ WORKSPACE_DOCKER__NETWORK: 'host', TMPDIR: tmpdir() })
  const { child, exit, stdout } = spawnCli(['torture', '--json'], environment)
  await waitFor('a workspace', async () => (await docker('ps', '-q', '--filter', 'name=ws-torture-')) !== '')
  child.kill('SIGINT')
  await exit
  expect(JSON.parse(stdout())).toMatchObject({ findings: [], remnants: [] })
  expect(await docker('ps', '-aq', '--filter', 'name=ws-torture-')).toBe('')
  expect(directories()).toEqual(before)
})

test('an orphan is found and removed, but not one with another name', async () => {
  const names = ['torture-orphan', 'precious'].map((name) => `${name}-${process.pid}`)
  const [, precious = ''] = names
  onTestFinished(() => void docker('volume', 'rm', '-f', ...names))
  const start = damaging(({ stateDir }, ids) => {
    const label = ['inspect', '--format', '{{index .Config.Labels "workspace.name"}}', ids[0] ?? '']
    if (ids.length === 0) return
    const workspace = execFileSync('docker', label, { encoding: 'utf8' }).trim()
    for (const [volume, owner] of [
      [names[0], `${workspace}0`],
      [precious, 'precious'],
    ])
      execFileSync('docker', volumeArguments(volume ?? '', serverIdOf(stateDir), owner ?? ''))
  })
  const report = await run({ durationMs: 8_000, kinds: ['server'], start })
  onTestFinished(() => {
    rmSync(report.logFile ?? '', { force: true })
    const [directory] = report.remnants.flatMap(({ command }) => /^rm -r (.*)$/.exec(command)?.[1] ?? [])
    rmSync(directory ?? '', { recursive: true, force: true })
  })
  expect(report.findings.toSorted((a, b) => a.what.localeCompare(b.what))).toEqual([
    { kind: 'orphan', what: `volume ${precious}` },
    { kind: 'orphan', what: `volume ${names[0]}` },
  ])
  expect(report.remnants).toMatchObject([
    { command: `docker volume rm ${precious}` },
    { command: expect.stringMatching(/^rm -r /) },
  ])
  const left = await docker('volume', 'ls', '--format', '{{.Name}}')
  expect(names.filter((name) => left.split('\n').includes(name))).toEqual([precious])
})

test('the command prints a report, and fails if it checked nothing', async () => {
  const environment = userEnvironment({ WORKSPACE_DOCKER__NETWORK: 'host' })
  const argv = ['torture', '--minutes', '0.1', '--seed', '7', '--only', 'cut', '--json']
  const { status, stdout } = await workspaceCli(argv, environment)
  expect(JSON.parse(stdout), stdout).toMatchObject({ seed: 7, lost: 0, doubled: 0, orphan: 0, findings: [] })
  expect(status).toBe(0)
  const nothing = await workspaceCli(['torture', '--minutes', '0.00001', '--json'], environment)
  expect(JSON.parse(nothing.stdout)).toMatchObject({ rounds: 0, findings: [] })
  expect(nothing.status).toBe(1)
})
