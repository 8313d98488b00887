import { cpSync, mkdirSync, rmSync, statSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { recordFile } from '../../../../src/analyzer/lifecycle/server-record.ts'
import { isAlive } from '../../../../src/lib/process/is-alive.ts'
import { packageVersion } from '../../../../src/lib/process/package.ts'
import { identityOf } from '../../../../src/lib/process/process-identity.ts'
import { type AnalyzerUser, analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { tempDir } from '../../../support/temp-dir.ts'

interface Info {
  readonly pid: number
  readonly port: number
  readonly mode: string
  readonly status: string
}

/** The names of a user's state files do not depend on the project alone: they lie below its runtime folder. */
function recordOf(user: AnalyzerUser, root: string): string {
  vi.stubEnv('XDG_RUNTIME_DIR', join(user.runtimeDir, '..'))
  try {
    return recordFile(root)
  } finally {
    vi.unstubAllEnvs()
  }
}

test('start, status, project, refresh, list, restart and stop work for a new user', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const started = await user.json<Info>('start', '-p', root, '--mode', 'jar')
  expect(started).toEqual({
    version: packageVersion(),
    apiVersion: 'v1',
    pid: expect.any(Number),
    projectPath: root,
    projectName: 'shop',
    host: '127.0.0.1',
    port: expect.any(Number),
    mode: 'jar',
    status: 'READY',
    confinement: 'files',
    startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    uptime: expect.stringMatching(/^\d+s$/),
    lastActivityAt: expect.stringMatching(/^\d{4}-.*Z$/),
    idleDuration: expect.stringMatching(/^\d+s$/),
    idleTimeout: '30m',
  })
  expect(started.port).toBeGreaterThanOrEqual(61_000)

  // Readable by nobody else, in a folder of nobody else's (threat A8).
  const file = recordOf(user, root)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(user.runtimeDir).mode & 0o777).toBe(0o700)

  const below = join(root, 'src/main/java')
  mkdirSync(below, { recursive: true })
  expect(await user.json<Info>('status', '--project', below)).toMatchObject({ pid: started.pid })
  const project = await user.json('project', '-p', root)
  expect(project).toEqual({
    name: 'shop',
    path: root,
    status: 'READY',
    classCount: expect.any(Number),
    scannedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    classFolders: [join(root, 'target/classes')],
  })

  rmSync(join(root, 'target/classes/demo/Calls$Fluent.class'))
  expect(await user.json('refresh', '-p', root)).toMatchObject({
    status: 'READY',
    classCount: Number(project['classCount']) - 1,
  })
  expect(await user.json('list')).toEqual({ servers: [expect.objectContaining({ projectPath: root })] })

  const again = await user.json<Info>('restart', '-p', root)
  expect(again).toMatchObject({ status: 'READY', mode: 'jar' })
  expect(again.pid).not.toBe(started.pid)
  expect(isAlive(started.pid)).toBe(false)

  expect(await user.json('stop', '-p', root)).toEqual({ stopped: root })
  expect(isAlive(again.pid)).toBe(false)
  expect(user.records()).toEqual([])
  expect(await user.json('list')).toEqual({ servers: [] })
})

test('two concurrent starts result in one server, which both report', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const both = await Promise.all([user.json<Info>('start', '-p', root), user.json<Info>('start', '-p', root)])
  expect(both[0].pid).toBe(both[1].pid)
  expect(both.map(({ status }) => status)).toEqual(['READY', 'READY'])
  expect(await user.json('start', '-p', root)).toMatchObject({ pid: both[0].pid })
  expect((await user.json<{ servers: unknown[] }>('list')).servers).toHaveLength(1)
})

test('the record of a killed server is removed, and the next start writes another', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { pid } = await user.json<Info>('start', '-p', root)
  process.kill(pid, 'SIGKILL')
  const { status, stderr } = await user.analyzer('status', '-p', root)
  expect({ status, stderr }).toEqual({
    status: 7,
    stderr: `analyzer: no server is running for ${root}; start one with: analyzer start\n`,
  })
  expect(user.records()).toEqual([])
  expect((await user.json<Info>('start', '-p', root)).pid).not.toBe(pid)
})

/** A server of something else. */
async function stranger(answer: object): Promise<number> {
  const server = createServer((_request, reply) => void reply.end(JSON.stringify(answer))).listen(
    0,
    '127.0.0.1',
  )
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test.each([
  ['a live process of somebody else, with nothing at the port', undefined],
  ['a live process of somebody else, and another server at the port', { status: 'UP' }],
  [
    'a server at the port that claims to be of another project',
    { pid: process.pid, projectPath: '/elsewhere' },
  ],
])('a record that names %s is not trusted', async (_what, answer) => {
  const { writeRecord } = await import('../../../../src/analyzer/lifecycle/server-record.ts')
  const user = analyzerUser()
  const root = builtProject()
  const file = recordOf(user, root)
  const port = answer === undefined ? 1 : await stranger(answer)
  const identity = identityOf(process.pid)
  const record = { ...identity, host: '127.0.0.1', port, token: 'made up', projectPath: root }
  await writeRecord({
    ...record,
    mode: 'jar',
    watch: false,
    version: '0',
    startedAt: new Date().toISOString(),
  })
  expect(await user.json('list')).toEqual({ servers: [] })
  expect(readdirSync(user.runtimeDir)).not.toContain(file)
  expect((await user.analyzer('classes', 'list', '-p', root)).status).toBe(7)
  expect((await user.json<Info>('start', '-p', root)).pid).not.toBe(process.pid)
})

test('a hanging server: queries and stop exit with 5, and --force kills it', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { pid } = await user.json<Info>('start', '-p', root)
  process.kill(pid, 'SIGSTOP')
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  expect(await user.analyzer('classes', 'list', '-p', root)).toMatchObject({
    status: 5,
    stderr: expect.stringContaining('did not respond in time'),
  })
  const refused = await user.analyzer('stop', '-p', root)
  expect(refused).toMatchObject({ status: 5, stderr: expect.stringContaining('analyzer stop --force') })
  expect(isAlive(pid)).toBe(true)
  expect(await user.json('stop', '--force', '-p', root)).toEqual({ stopped: root })
  expect(isAlive(pid)).toBe(false)
  expect(user.records()).toEqual([])
})

test.each([
  ['empty', ''],
  ['half written', '{"pid": 1'],
  ['missing', undefined],
])('a server whose state file is %s is found', async (_what, text) => {
  const user = analyzerUser()
  const root = builtProject()
  const { pid } = await user.json<Info>('start', '-p', root)
  const damage = () =>
    text === undefined ? rmSync(recordOf(user, root)) : writeFileSync(recordOf(user, root), text)
  damage()
  expect(await user.json<Info>('status', '-p', root)).toMatchObject({ pid })
  damage()
  expect(await user.json<Info>('start', '-p', root, '--timeout', '20')).toMatchObject({ pid })
  damage()
  expect(await user.json('stop', '-p', root)).toEqual({ stopped: root })
  expect(isAlive(pid)).toBe(false)
})

test('a server whose project was deleted is stopped by its old path, and by stop --all', async () => {
  const user = analyzerUser()
  const [gone, other] = [builtProject(), builtProject()]
  for (const root of [gone, other]) await user.json<Info>('start', '-p', root)
  rmSync(gone, { recursive: true })
  expect(await user.json('stop', '-p', join(gone, 'src'))).toEqual({ stopped: gone })
  expect(await user.json('stop', '--all')).toEqual({ stopped: [other] })
  expect(await user.json('stop', '--all')).toEqual({ stopped: [] })
  expect(user.records()).toEqual([])
})

test('an unreachable server that holds the lock: exit status 6', async () => {
  const user = analyzerUser()
  const root = builtProject()
  await user.json<Info>('start', '-p', root)
  const file = recordOf(user, root)
  const { readFileSync } = await import('node:fs')
  const record = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...record, port: 1 }))
  const { status, stderr } = await user.analyzer('classes', 'list', '-p', root)
  expect({ status, stderr }).toEqual({
    status: 6,
    stderr: expect.stringMatching(/is unreachable: .*ECONNREFUSED/) as string,
  })
})

test('--port uses that port, and reports if it is in use', async () => {
  const user = analyzerUser()
  const port = await stranger({})
  const root = builtProject()
  const refused = await user.analyzer('start', '-p', root, '--port', String(port))
  expect(refused).toMatchObject({
    status: 4,
    stderr: expect.stringContaining(`port ${port} is in use; omit --port to use a free one`),
  })
  expect(user.records()).toEqual([])
})

test('--timeout 0 exits with 5, and the server continues to start', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { status, stderr } = await user.analyzer('start', '-p', root, '--timeout', '0')
  expect({ status, stderr }).toMatchObject({
    status: 5,
    stderr: expect.stringContaining('not ready after 0 s'),
  })
  expect(await user.json('start', '-p', root)).toMatchObject({ status: 'READY' })
})

test('a project that cannot be scanned: start exits with 4 and the reason, and leaves no server', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { status, stderr } = await user.analyzer('start', '-p', root, '--mode', 'buildtool')
  expect({ status, stderr }).toEqual({
    status: 4,
    stderr: expect.stringMatching(
      /did not start: the build tool could not resolve the class path: /,
    ) as string,
  })
  expect(await user.json('list')).toEqual({ servers: [] })
})

test('--server-jar and ANALYZER_REPO_PATH select the server to run', async () => {
  const root = builtProject()
  const folder = tempDir()
  mkdirSync(join(folder, 'src/bin'), { recursive: true })
  const other = join(folder, 'src/bin/analyzer.ts')
  writeFileSync(
    other,
    `console.log('ANALYZER_ERROR reason=OTHER message="the other server: ' + process.argv[2] + '"')`,
  )
  const byFlag = await analyzerUser().analyzer('start', '-p', root, '--server-jar', other)
  expect(byFlag).toMatchObject({ status: 4, stderr: expect.stringContaining('the other server: serve') })
  const byVariable = await analyzerUser({ ANALYZER_REPO_PATH: folder }).analyzer('start', '-p', root)
  expect(byVariable).toMatchObject({ status: 4, stderr: expect.stringContaining('the other server: serve') })
})

test('the start of a project without classes reports what to compile or name, until it has some', async () => {
  const user = analyzerUser()
  const root = tempDir()
  writeFileSync(join(root, 'pom.xml'), '<project/>')
  const started = await user.analyzer('start', '-p', root, '--mode', 'jar')
  onTestFinished(() => user.analyzer('stop', '-p', root).then(() => undefined))
  expect(started.status).toBe(0)
  expect(started.stderr).toMatch(
    /^analyzer: no compiled classes found; .*"mvn compile".* for target\/classes, /,
  )
  expect(await user.json('refresh', '-p', root)).toMatchObject({ classCount: 0, problem: expect.any(String) })
  expect(await user.analyzer('dead', '-p', root)).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('no class of the project was read'),
  })

  const elsewhere = join(builtProject(), 'target/classes')
  const missing = await user.analyzer('restart', '-p', root, '--classes', join(root, 'missing'))
  expect(missing).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/--classes: ".*missing" does not exist/),
  })
  expect((await user.analyzer('restart', '-p', root, '--classes', elsewhere)).stderr).toBe('')
  expect((await user.analyzer('restart', '-p', root)).status).toBe(0)
  expect(await user.json('project', '-p', root)).toMatchObject({ classFolders: [elsewhere] })
  await user.analyzer('stop', '-p', root)
  expect((await user.analyzer('start', '-p', root, '--mode', 'jar')).stderr).toMatch(/^analyzer: no compiled/)

  cpSync(join(builtProject(), 'target/classes'), join(root, 'target/classes'), { recursive: true })
  const compiled = await user.json('refresh', '-p', root)
  expect(compiled).toMatchObject({ classCount: expect.any(Number) })
  expect(compiled).not.toHaveProperty('problem')
})
