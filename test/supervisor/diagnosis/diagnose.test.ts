import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../support/services/free-port.ts'
import { askProxy } from '../../support/supervisor/proxied.ts'
import { startSupervisor, type TestSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

const SLEEP = 'exec sleep 1000'

async function whyOf({ ask }: TestSupervisor, name: string): Promise<any> {
  const { status, body } = await ask(`/processes/${name}/why`)
  expect(status).toBe(200)
  return body
}

async function listen(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('why shows the exit in words, the last lines and what to do', async () => {
  const supervisor = await startSupervisor({
    web: { cmd: 'echo one; echo "$(printf "\\033[31m")two" >&2; exit 3', restart: 'never' },
  })
  await supervisor.until('web', 'crashed')
  await waitFor('both lines', async () => (await whyOf(supervisor, 'web')).output.length === 2)
  expect(await whyOf(supervisor, 'web')).toMatchObject({
    name: 'web',
    status: 'crashed',
    reason: 'exited with status 3',
    last_exit: { description: 'exited with status 3', status: 3, signal: null, requested: false },
    output: expect.arrayContaining([
      expect.objectContaining({ stream: 'stdout', line: 'one' }),
      expect.objectContaining({ stream: 'stderr', line: 'two' }),
    ]),
    healthcheck: null,
    ports: [],
    starts: [{ reason: 'started by the supervisor' }],
    next_attempt: null,
    advice: ['when the cause is fixed, run "supervisor start web"'],
  })
})

test('why shows when the next attempt comes, and all attempts so far', { tags: ['long'] }, async () => {
  const supervisor = await startSupervisor({ web: { cmd: 'exit 1', restart_delay: '1ms' } })
  await waitFor('some restarts', async () => (await whyOf(supervisor, 'web')).restarts > 1)
  const later = await startSupervisor({ web: { cmd: 'exit 1', restart_delay: '1h' } })
  await later.until('web', 'crashed')
  const { next_attempt: next, ...why } = await whyOf(later, 'web')
  expect(Date.parse(next) - Date.parse(why.last_exit.timestamp)).toBeGreaterThanOrEqual(3_600_000)
  expect(why.reason).toBe('exited with status 1; it will be started again')
  expect(why.advice).toEqual(['"supervisor start web" tries at once'])
  const { starts } = await whyOf(supervisor, 'web')
  expect(starts.length).toBeGreaterThan(2)
  expect(starts.length).toBeLessThanOrEqual(20)
  expect(starts.at(-1)).toMatchObject({ reason: 'restart after a crash' })
})

test('why reports that restarts were given up', async () => {
  const supervisor = await startSupervisor({ web: { cmd: 'exit 1', restart_delay: '1ms', max_restarts: 2 } })
  await waitFor('the end', async () => (await whyOf(supervisor, 'web')).reason.includes('given up'))
  expect((await whyOf(supervisor, 'web')).reason).toBe('exited with status 1; given up after 2 restarts')
})

test('why names the dependencies that block a process, with their state', async () => {
  const supervisor = await startSupervisor({
    db: { cmd: 'exit 5', restart: 'never' },
    cache: { cmd: SLEEP },
    web: { cmd: SLEEP, depends_on: { db: 'completed', cache: 'started' } },
  })
  await supervisor.until('db', 'crashed')
  expect(await whyOf(supervisor, 'web')).toMatchObject({
    status: 'starting',
    reason: 'waits for "db" to be completed, which has crashed',
    dependencies: [
      { name: 'db', condition: 'completed', met: false, status: 'crashed', reason: 'exited with status 5' },
      { name: 'cache', condition: 'started', met: true, status: 'running' },
    ],
    advice: ['fix "db", which stays down until it is started by hand; "supervisor why db" explains it'],
  })
})

test.runIf(process.platform === 'linux')(
  'why names the program that holds the port of a process',
  async () => {
    const port = await listen()
    const supervisor = await startSupervisor({
      web: { cmd: 'exit 1', restart: 'never', proxy: { port } },
    })
    await supervisor.until('web', 'crashed')
    const { username: user } = userInfo()
    const { ports, advice } = await whyOf(supervisor, 'web')
    expect(ports).toEqual([
      {
        port,
        source: 'proxy.port',
        holder: { pid: process.pid, command: expect.any(String), user, process: null },
      },
    ])
    expect(advice[0]).toContain(`port ${port} is used by process ${process.pid} of user ${user} (`)
  },
)

test.runIf(process.platform === 'linux')(
  'why reads the port in use from the output, and names a supervised holder',
  async () => {
    const port = await freePort()
    const listener = `require('net').createServer().listen(${port}, '127.0.0.1')`
    const supervisor = await startSupervisor({
      // A program without the mark in its environment.
      first: {
        cmd: ['env', '-i', process.execPath, '-e', listener],
        healthcheck: { tcp: port, interval: '20ms' },
      },
      second: { cmd: [process.execPath, '-e', listener], restart: 'never', depends_on: { first: 'healthy' } },
    })
    await supervisor.until('second', 'crashed')
    await waitFor('its lines', async () => (await whyOf(supervisor, 'second')).ports.length > 0)
    const { ports, advice } = await whyOf(supervisor, 'second')
    expect(ports).toMatchObject([{ port, source: 'output', holder: { process: 'first' } }])
    expect(advice[0]).toBe(
      `port ${port} is used by "first": stop it with "supervisor stop first", or give one of them another port`,
    )
    expect(await whyOf(supervisor, 'first')).toMatchObject({
      ports: [{ port, source: 'healthcheck.tcp', holder: { process: 'first' } }],
      advice: [],
    })
  },
)

test('why keeps the output of failed checks after the restart they caused', async () => {
  const supervisor = await startSupervisor({
    web: {
      cmd: SLEEP,
      healthcheck: { exec: 'echo no answer; exit 1', interval: '10ms', retries: 2, restart: true },
    },
  })
  await waitFor('a restart', async () => (await whyOf(supervisor, 'web')).restarts > 0)
  const { healthcheck } = await whyOf(supervisor, 'web')
  expect(healthcheck).toMatchObject({ check: 'exec echo no answer; exit 1', retries: 2 })
  expect(healthcheck.failures.length).toBeGreaterThan(1)
  expect(healthcheck.failures.length).toBeLessThanOrEqual(5)
  expect(healthcheck.failures[0].output).toBe('no answer')
})

test('why reports that nothing listens on the port of a failing check', async () => {
  const port = await freePort()
  const supervisor = await startSupervisor({
    web: {
      cmd: SLEEP,
      healthcheck: { http: `http://127.0.0.1:${port}/?token=hush`, interval: '10ms', retries: 1 },
    },
  })
  await waitFor('the check', async () => (await whyOf(supervisor, 'web')).health === 'unhealthy')
  const why = await whyOf(supervisor, 'web')
  expect(why).toMatchObject({
    status: 'running',
    reason: 'running, but its health check fails',
    ports: [{ port, source: 'healthcheck.http', holder: null }],
    advice: [`nothing listens on port ${port}: check which port "web" uses`],
  })
  expect(JSON.stringify(why)).not.toContain('hush')
})

test('why shows the last failed requests of a process, with secrets masked', async () => {
  const port = await freePort()
  const supervisor = await startSupervisor(
    { web: { cmd: SLEEP, proxy: { port } } },
    { proxy: { enabled: true, port: 0, hold: '0s' } },
  )
  for (const path of ['/1', '/2', '/3', '/4', '/5', '/6?api_key=hush'])
    expect((await askProxy(supervisor.running.proxyPort, path)).status).toBe(502)
  const { failed_requests: failed } = await whyOf(supervisor, 'web')
  expect(failed.map((each: any) => [each.status_code, each.url])).toEqual([
    [502, '/6?api_key=********'],
    ...['/5', '/4', '/3', '/2'].map((path) => [502, path]),
  ])
})

test.each([
  [
    'a command that is not in PATH',
    { cmd: ['no-such-program'] },
    /^process "web" cannot be started: .* not in PATH$/,
    /fix "web" in/,
  ],
  [
    'a command that the shell does not find',
    { cmd: 'no-such-program' },
    /status 127/,
    /check the program's name/,
  ],
  ['a SIGKILL', { cmd: 'kill -KILL $$' }, /^killed by SIGKILL$/, /did not send SIGKILL/],
])('why explains %s', async (_, settings, reason, advice) => {
  const supervisor = await startSupervisor({ web: { restart: 'never', ...settings } })
  await supervisor.until('web', 'crashed')
  const why = await whyOf(supervisor, 'web')
  expect(why.reason).toMatch(reason)
  expect(why.advice[0]).toMatch(advice)
})

test('why bounds the output and masks secrets in commands and reasons', async () => {
  const supervisor = await startSupervisor({
    web: {
      cmd: 'i=0; while [ $i -lt 100 ]; do i=$((i+1)); printf "%02000d\\n" $i; done; exec sleep 1000',
      healthcheck: { exec: 'echo postgres://u:hush@h/db; exit 1', interval: '10ms' },
    },
  })
  await waitFor('the lines', async () => (await whyOf(supervisor, 'web')).output.length === 20)
  await waitFor('a check', async () => (await whyOf(supervisor, 'web')).healthcheck.failures.length > 0)
  const why = await whyOf(supervisor, 'web')
  expect(new Set(why.output.map(({ line }: any) => line.length))).toEqual(new Set([1_000]))
  expect(JSON.stringify(why)).not.toContain('hush')
})

test('why of an unknown process is refused', async () => {
  const { ask } = await startSupervisor({})
  expect(await ask('/processes/nobody/why')).toMatchObject({
    status: 404,
    body: { code: 'PROCESS_NOT_FOUND' },
  })
})
