import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { expect, test } from 'vitest'
import { isAlive } from '../../../src/lib/process/is-alive.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { askProxy } from '../../support/supervisor/proxied.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { webProgram, webProgramsIn } from '../../support/supervisor/web-program.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

type Settings = Readonly<Record<string, unknown>>

const CHECK = { http: 'http://127.0.0.1:$PORT/health', interval: '50ms', start_period: '30s' }
const PROXY = { enabled: true, port: 0 }

/** Starts a supervisor with a process `web` that is replaced by its next run. */
async function startWeb(files?: readonly string[], more: Settings = {}, platform = process.platform) {
  const dir = tempDir()
  const { cmd, touch } = webProgram(dir, files)
  const web = { cmd, restart_order: 'start-first', proxy: {}, healthcheck: CHECK, ...more }
  const supervisor = await startSupervisor({ web }, { proxy: PROXY }, dir, platform)
  const { ask, running } = supervisor
  const through = async (path = '/') => {
    const { status, body } = await askProxy(running.proxyPort, path)
    return { status, ...(status === 200 ? JSON.parse(body) : {}) }
  }
  const restart = () => ask('/processes/web/restart', 'POST')
  const find = async () => (await ask('/processes/web')).body
  return { ...supervisor, dir, web, touch, through, restart, find }
}

test('a restart moves requests to the next run on another port, and lets those in progress finish', async () => {
  const { through, restart, touch, find, until, ask } = await startWeb(['gate', 'end'])
  await until('web', 'running')
  const before = await through()
  expect(before.status).toBe(200)
  const slow = through('/slow')
  const upload = through('/slow')
  await waitFor('both', async () => (await ask('/processes/web/why')).status === 200)
  expect((await restart()).status).toBe(200)
  const { pid, restarts, health, reason } = await find()
  expect({ restarts, health, reason }).toEqual({
    restarts: 1,
    health: 'healthy',
    reason: 'its next run is healthy',
  })
  expect(await through()).toMatchObject({ status: 200, pid })
  expect(pid).not.toBe(before.pid)
  // The earlier run waits for its requests.
  expect(isAlive(before.pid)).toBe(true)
  touch('answer')
  expect(await slow).toMatchObject({ status: 200, pid: before.pid })
  expect(await upload).toMatchObject({ status: 200, pid: before.pid })
  await waitFor('its end', () => !isAlive(before.pid))
  const after = await through()
  expect(after.port).not.toBe(before.port)
  expect(Number(after.port)).toBeGreaterThan(0)
})

test('the restart of a group starts the next run first, too', async () => {
  const { through, find, until, ask, touch } = await startWeb(undefined, {
    groups: ['site'],
    start_timeout: '10s',
  })
  await until('web', 'running')
  const before = await through()
  expect(await ask('/groups/site/restart', 'POST')).toEqual({
    status: 200,
    body: { success: true, processes: ['web'] },
  })
  const { pid, reason } = await find()
  expect([pid === before.pid, reason]).toEqual([false, 'its next run is healthy'])
  touch('broken')
  expect(await ask('/groups/site/restart', 'POST')).toMatchObject({
    status: 500,
    body: {
      code: 'PROCESS_START_FAILED',
      error: expect.stringMatching(
        /^1 of 1 processes of group "site" could not be started: web: .*exited with status 7/,
      ),
    },
  })
  expect(await through()).toMatchObject({ status: 200, pid })
})

test('requests to the earlier run end with the limit', async () => {
  const { through, restart, until, find } = await startWeb(['gate', 'end'], { drain_timeout: '100ms' })
  await until('web', 'running')
  const { pid } = await find()
  const slow = through('/slow')
  await waitFor('its request', async () => (await through()).status === 200)
  await restart()
  expect((await slow).status).toBe(502)
  await waitFor('its end', () => !isAlive(pid))
})

test.each([
  ['exits', ['broken'], 'it exited with status 7', {}],
  [
    'does not become healthy',
    ['sick'],
    'it was not healthy within 0.5 s: status 500',
    { start_timeout: '500ms' },
  ],
])('if the next run %s, the current one continues', async (_what, files, why, more) => {
  const { through, restart, touch, find, until, ask, dir } = await startWeb(undefined, more)
  await until('web', 'running')
  const { pid } = await find()
  for (const file of files) touch(file)
  const { status, body } = await restart()
  expect(status).toBe(500)
  expect(body.code).toBe('PROCESS_START_FAILED')
  expect(body.error).toContain(
    `process "web" continues with its current run, because the next one failed: ${why}`,
  )
  expect(await through()).toMatchObject({ status: 200, pid })
  expect(await find()).toMatchObject({ pid, status: 'running', restarts: 0 })
  expect((await ask('/processes/web/why')).body.reason).toBe(
    `its next run failed: ${why}; the current run continues`,
  )
  await waitFor('its end', () => webProgramsIn(dir).length === 1)
  for (const file of files) rmSync(join(dir, file))
  expect((await restart()).status).toBe(200)
  expect((await through()).pid).not.toBe(pid)
})

test('restarts during a restart become one that follows it', async () => {
  const { restart, find, until } = await startWeb()
  await until('web', 'running')
  const answers = await Promise.all([restart(), restart(), restart(), restart()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect((await find()).restarts).toBe(2)
})

test('a stop during a restart stops both runs', async () => {
  const { restart, touch, until, ask, dir } = await startWeb(['gate', 'end'])
  await until('web', 'running')
  rmSync(join(dir, 'gate'))
  const restarts = [restart(), restart()]
  await waitFor('the next run', () => webProgramsIn(dir).length === 2)
  expect((await ask('/processes/web/stop', 'POST')).status).toBe(200)
  expect(webProgramsIn(dir)).toEqual([])
  await Promise.all(restarts)
  touch('gate')
  expect((await ask('/processes/web')).body.status).toBe('stopped')
  expect(webProgramsIn(dir)).toEqual([])
})

test('if the current run exits, the next one takes over', async () => {
  const { restart, touch, until, find, through, dir } = await startWeb(['gate', 'end'])
  await until('web', 'running')
  const { pid } = await find()
  rmSync(join(dir, 'gate'))
  const restarted = restart()
  await waitFor('the next run', () => webProgramsIn(dir).length === 2)
  process.kill(pid, 'SIGKILL')
  await until('web', 'starting')
  const asked = through()
  touch('gate')
  expect((await restarted).status).toBe(200)
  await until('web', 'running')
  const { pid: after, restarts } = await find()
  expect(webProgramsIn(dir)).toEqual([after])
  expect(restarts).toBe(1)
  expect(await asked).toMatchObject({ status: 200, pid: after })
})

// On other systems daemons are found by their marks.
const PLATFORMS = [process.platform, 'darwin'] as const

test.each(PLATFORMS)(
  'the end of the earlier run leaves daemons of the next one alone: %s',
  async (platform) => {
    const mark = `7${Math.floor(Math.random() * 1e8)}`
    const cmd = `setsid -f sleep ${mark}; exec ${process.execPath} web.cjs`
    const { restart, until, through, find, ask } = await startWeb(undefined, { cmd }, platform)
    const daemons = () =>
      spawnSync('pgrep', ['-fx', `sleep ${mark}`], { encoding: 'utf8' })
        .stdout.split('\n')
        .filter(Boolean)
    await until('web', 'running')
    // The third run has the process tree's name of the first one.
    for (let i = 0; i < 2; i++) {
      const { pid } = await find()
      const [before] = daemons()
      expect((await restart()).status).toBe(200)
      await waitFor('the end of the earlier run', () => !isAlive(pid) && daemons().length === 1)
      expect(daemons()).not.toContain(before)
      expect((await through()).status).toBe(200)
    }
    await ask('/processes/web/stop', 'POST')
    expect(daemons()).toEqual([])
  },
)

test('a changed process is replaced by a run with its new settings', async () => {
  const { running, write, web, until, find, ask, through } = await startWeb()
  await until('web', 'running')
  const { pid } = await find()
  write({
    api: { port: 0 },
    log: { level: 'silent' },
    state_dir: 'state',
    proxy: PROXY,
    processes: { web: { ...web, env: { VERSION: '2' } } },
  })
  const asked = through('/')
  expect(await running.reload()).toMatchObject({ changed: ['web'] })
  expect((await asked).status).toBe(200)
  const { history, env, pid: after } = await find()
  expect(after).not.toBe(pid)
  expect(env).toMatchObject({ VERSION: '2' })
  const statuses = history.map(({ status }: { readonly status: string }) => status)
  expect(statuses.slice(statuses.indexOf('running'))).not.toContain('stopping')
  expect((await ask('/processes/web/why')).body.ports).toMatchObject([
    { holder: { pid: after, process: 'web' } },
  ])
})

test.each([
  [{ proxy: { port: 3000 } }, {}, 'remove proxy.port, because each run listens on its own $PORT'],
  [{ proxy: undefined }, {}, 'it needs a "proxy" section'],
  [{ healthcheck: undefined }, {}, 'it needs a "healthcheck"'],
  [{ healthcheck: { log: 'ready' } }, {}, 'healthcheck.log cannot distinguish two runs'],
  [{ healthcheck: { tcp: 3000 } }, {}, 'its healthcheck must use $PORT to check the right run'],
  [
    { healthcheck: { http: 'http://127.0.0.1/' } },
    {},
    'its healthcheck must use $PORT to check the right run',
  ],
  [{ env: { PORT: '3000' } }, {}, 'remove env.PORT, because each run gets its own'],
  [{ tty: true }, {}, 'two runs cannot share a terminal (tty)'],
  [{ schedule: '@every 1h' }, {}, 'it has a schedule'],
  [{}, { proxy: { enabled: false } }, 'set proxy.enabled to true'],
])('start-first is refused where it cannot work: %j', (own, all, mistake) => {
  const file = join(tempDir(), 'supervisor.yaml')
  const web = { cmd: 'true', restart_order: 'start-first', proxy: {}, healthcheck: CHECK, ...own }
  writeFileSync(file, stringify({ proxy: PROXY, ...all, processes: { web } }))
  expect(() => loadSupervisorConfig({ HOME: '/' }, { file })).toThrow(
    `"processes.web.restart_order" cannot be start-first: ${mistake}`,
  )
})

test('start-first accepts checks of the port of a run', () => {
  const file = join(tempDir(), 'supervisor.yaml')
  for (const healthcheck of [
    { tcp: '$PORT' },
    { tcp: '127.0.0.1:${PORT}' },
    { exec: 'curl -fs http://127.0.0.1:$PORT/' },
    { http: 'http://localhost:${PORT}/x' },
  ]) {
    const web = { cmd: 'true', restart_order: 'start-first', proxy: {}, healthcheck, replicas: 2 }
    writeFileSync(file, stringify({ proxy: PROXY, processes: { web } }))
    const { config } = loadSupervisorConfig({ HOME: '/' }, { file })
    expect(config.processes.map(({ startFirst, env }) => [startFirst, env['PORT']])).toEqual(
      Array.from({ length: 2 }, () => [{ startTimeoutMs: 60_000, drainTimeoutMs: 10_000 }, '0']),
    )
  }
})
