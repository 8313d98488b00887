import { expect, test } from 'vitest'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { packageVersion } from '../../../src/lib/process/package.ts'
import { analyzerUser, builtProject, spawnServe } from '../../support/analyzer/analyzer-cli.ts'
import { waitFor } from '../../support/wait-for.ts'

test('serve prints one line when ready, and exits on SIGTERM with its record removed', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { child, exit, stdout } = spawnServe(user, ['-p', root])
  await waitFor('the line', () => stdout().includes('\n'))
  const [record] = user.records()
  expect(stdout()).toBe(`ANALYZER_READY port=${record?.port} host=127.0.0.1 version=${packageVersion()}\n`)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
  expect(user.records()).toEqual([])
  // Its lock is released too: another server can open the project immediately.
  const second = spawnServe(user, ['-p', root])
  await waitFor('the second', () => second.stdout().includes('ANALYZER_READY'))
})

test('SIGTERM stops it during its first scan too', async () => {
  const user = analyzerUser()
  const { child, exit, stdout } = spawnServe(user, ['-p', builtProject()])
  await waitFor('the record', () => user.records().length === 1)
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
  expect(stdout()).not.toContain('ANALYZER_ERROR')
  expect(user.records()).toEqual([])
})

test('serve prints one line with the reason if it cannot start', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const user = analyzerUser()
  const { exit, stdout } = spawnServe(user, ['-p', builtProject(), '--port', String(port)])
  expect(await exit).toBe(1)
  expect(stdout()).toBe(
    `ANALYZER_ERROR reason=NO_FREE_PORT message="port ${port} is in use; omit --port to use a free one"\n`,
  )
  taken.close()
})

test('a second server of a project is rejected', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const first = spawnServe(user, ['-p', root])
  await waitFor('the first', () => first.stdout().includes('ANALYZER_READY'))
  const second = spawnServe(user, ['-p', root])
  expect(await second.exit).toBe(1)
  expect(second.stdout()).toMatch(
    /^ANALYZER_ERROR reason=PROJECT_IN_USE message="another server is running for /,
  )
  expect(user.records()).toHaveLength(1)
})

test('an idle server stops; a busy one does not', async () => {
  const user = analyzerUser({ ANALYZER_SERVER__IDLE_TIMEOUT: '6s' })
  const { exit, stdout, stderr } = spawnServe(user, ['-p', builtProject()])
  await waitFor('ready', () => stdout().includes('ANALYZER_READY'), 60_000)
  const [record] = user.records()
  const url = `http://127.0.0.1:${record?.port}/api/v1/project`
  const headers = { authorization: `Bearer ${record?.token}` }
  const untilMs = performance.now() + 8_000
  while (performance.now() < untilMs) {
    expect((await fetch(url, { headers })).status).toBe(200)
    await new Promise((resolve) => void setTimeout(resolve, 200))
  }
  expect(await exit).toBe(0)
  expect(stderr()).toContain('idle timeout reached')
  expect(user.records()).toEqual([])
})

test('output is a table on a terminal, JSON when piped, and either on request', async () => {
  const user = analyzerUser()
  const root = builtProject()
  const { pid, port } = await user.json<{ pid: number; port: number }>('start', '-p', root, '--mode', 'jar')
  const status = await user.onTerminal('status', '-p', root)
  const lines = status
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(/\s{2,}/))
  expect(lines).toEqual([
    ['Project', 'shop'],
    ['Path', root],
    ['Status', 'READY'],
    ['Mode', 'jar'],
    ['Host', '127.0.0.1'],
    ['Port', String(port)],
    ['PID', String(pid)],
    ['Version', packageVersion()],
    ['Confinement', 'archives are read without access to the network, programs or other files'],
    ['Uptime', expect.stringMatching(/^\d+s$/)],
    ['Idle', expect.stringMatching(/s of 30m$/)],
  ])
  const list = (await user.onTerminal('list')).split(/\r?\n/)
  expect(
    list[0]
      ?.toLowerCase()
      .trim()
      .split(/\s{2,}/),
  ).toEqual(['project', 'mode', 'port', 'pid', 'status'])
  expect(list[1]?.trim().split(/\s{2,}/)).toEqual([root, 'jar', String(port), String(pid), 'READY'])
  const classes = (await user.onTerminal('classes', 'list', '-p', root)).split(/\r?\n/)
  expect(
    classes[0]
      ?.toLowerCase()
      .trim()
      .split(/\s{2,}/),
  ).toEqual(['name', 'type', 'source', 'methods', 'fields'])
  expect(classes[1]).toContain('PROJECT')
  expect(JSON.parse(await user.onTerminal('list', '--json'))).toMatchObject({ servers: [{ pid }] })
  expect((await user.analyzer('list', '--table')).stdout.split('\n')).toHaveLength(3)
})

test('the idle time is readable', async () => {
  const { formatDuration } = await import('../../../src/analyzer/lifecycle/idle-clock.ts')
  expect([0, 999, 59_000, 330_000, 3_600_000, 90_061_000].map(formatDuration)).toEqual([
    '0s',
    '0s',
    '59s',
    '5m 30s',
    '1h',
    '1d 1h 1m 1s',
  ])
})
