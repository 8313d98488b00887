import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stringify } from 'yaml'
import { expect, onTestFinished, test } from 'vitest'
import { showSettings } from '../../../src/lib/config/show.ts'
import { supervisorSchema } from '../../../src/supervisor/config-schema.ts'
import { HookQueue } from '../../../src/supervisor/hooks/hook-queue.ts'
import type { Hook } from '../../../src/supervisor/hooks/hook.ts'
import type { ProcessEvent } from '../../../src/supervisor/hooks/process-event.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const EVENTS = ['started', 'restarted', 'healthy', 'unhealthy', 'exited', 'failed']

interface Delivery {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Receives webhooks; the statuses are those of its first responses. */
async function receiver(statuses: readonly number[] = []) {
  const deliveries: Delivery[] = []
  const server = createServer((asked, answer) => {
    const receive = async (): Promise<void> => {
      const body = await text(asked)
      answer.statusCode = statuses[deliveries.length] ?? 204
      deliveries.push({ headers: asked.headers, body })
      answer.end()
    }
    void receive()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/secret-path`, deliveries }
}

test('commands of hooks get the events of their processes in order', async () => {
  const dir = tempDir()
  const lines = () =>
    existsSync(join(dir, 'log')) ? readFileSync(join(dir, 'log'), 'utf8').trim().split('\n') : []
  const command =
    'echo "$SUPERVISOR_EVENT_PROCESS $SUPERVISOR_EVENT $SUPERVISOR_EVENT_STATUS $SUPERVISOR_EVENT_EXIT" >> log'
  const { ask, until } = await startSupervisor(
    {
      web: {
        cmd: 'exec sleep 1000',
        healthcheck: { exec: 'test ! -e sick', interval: '50ms', retries: 1 },
        hooks: { own: { on: ['restarted'], command: ['sh', '-c', 'echo "own $SUPERVISOR_EVENT" >> log'] } },
      },
      broken: { cmd: 'exit 3', restart: 'never', autostart: false },
    },
    { hooks: { all: { on: EVENTS, command } } },
    dir,
  )
  await until('web', 'running')
  await waitFor('its health', () => lines().length === 2)
  writeFileSync(join(dir, 'sick'), '')
  await waitFor('the failure', () => lines().length === 3)
  await ask('/processes/web/restart', 'POST')
  await waitFor('the restart', () => lines().filter((line) => line !== 'own restarted').length >= 6)
  await waitFor('its own hook', () => lines().includes('own restarted'))
  await ask('/processes/broken/start', 'POST')
  await waitFor('the failure', () => lines().some((line) => line.includes(' failed ')))
  const of = (name: string) => lines().filter((line) => line.startsWith(name))
  expect(of('web').slice(0, 5)).toEqual([
    'web started starting ',
    'web healthy running ',
    'web unhealthy running ',
    'web exited starting SIGTERM',
    'web restarted starting SIGTERM',
  ])
  expect(of('broken')).toEqual([
    'broken started running ',
    'broken exited crashed 3',
    'broken failed crashed 3',
  ])
  expect(of('own')).toEqual(['own restarted'])
})

test('a webhook is signed, and sent again after a failure that may pass', async () => {
  const { url, deliveries } = await receiver([503])
  const { until } = await startSupervisor(
    { web: { cmd: 'exit 3', restart: 'never' } },
    { hooks: { page: { on: ['failed'], url, secret: 'whsec_c2VjcmV0' } } },
  )
  await until('web', 'crashed')
  await waitFor('the second attempt', () => deliveries.length === 2)
  for (const { headers, body } of deliveries) {
    expect(JSON.parse(body)).toMatchObject({
      event: 'failed',
      process: 'web',
      status: 'crashed',
      reason: 'exited with status 3',
      pid: 0,
      restarts: 0,
      last_exit: { status: 3, signal: null, requested: false },
    })
    const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.')
    const signature = createHmac('sha256', 'secret').update(content).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    expect(headers['content-type']).toBe('application/json')
  }
  // The receiver recognizes the repetition.
  expect(deliveries[0]?.headers['webhook-id']).toBe(deliveries[1]?.headers['webhook-id'])
})

const event = (restarts: number): ProcessEvent => ({
  event: 'failed',
  process: 'web',
  base: 'web',
  timeMs: 0,
  status: 'crashed',
  reason: '',
  pid: 0,
  restarts,
  exit: undefined,
})

/** Opens the queue of a hook and collects what it logs. */
function openQueue(action: Hook['action'], clock = new FakeClock()) {
  const logged: string[] = []
  const log = (fields: unknown, message?: string) => void logged.push(JSON.stringify([fields, message]))
  const logger = { info: log, warn: log } as never
  const hook: Hook = { name: 'page', process: undefined, events: ['failed'], action, timeoutMs: 1_000 }
  const dropped: [string, number][] = []
  const queue = new HookQueue(hook, {
    logger,
    clock,
    environment: { PATH: process.env['PATH'] },
    onDrop: (name, events) => void dropped.push([name, events]),
  })
  return { queue, clock, logged, dropped }
}

test('a webhook is tried three times, and its address is not logged', { tags: ['long'] }, async () => {
  const { url, deliveries } = await receiver([500, 500, 500])
  const { queue, clock, logged } = openQueue({ kind: 'webhook', url, secret: undefined })
  queue.add(event(0))
  await waitFor('all attempts', async () => {
    await clock.pass(100)
    return logged.length > 0
  })
  expect(deliveries.length).toBe(3)
  expect(logged).toEqual([expect.stringContaining('status 500')])
  expect(logged.join()).not.toContain('secret-path')
  expect(deliveries[0]?.headers).not.toHaveProperty('webhook-signature')
})

test('addresses and secrets of hooks are not shown', () => {
  const file = join(tempDir(), 'supervisor.yaml')
  const page = { on: ['failed'], url: 'http://a/secret-path', secret: 'secret-key' }
  writeFileSync(file, stringify({ hooks: { page }, processes: { web: { cmd: 'a', hooks: { page } } } }))
  const { settings } = loadSupervisorConfig({ HOME: '/' }, { file })
  expect(showSettings(supervisorSchema, settings)).toContain('page')
  expect(showSettings(supervisorSchema, settings)).not.toMatch(/secret-(?:path|key)/)
})

test('a webhook that was refused is not sent again', async () => {
  const { url, deliveries } = await receiver([400])
  const { queue } = openQueue({ kind: 'webhook', url, secret: undefined })
  queue.add(event(0))
  await queue.idle()
  expect(deliveries.length).toBe(1)
})

test(
  'events beyond the limit are dropped and counted, and a slow command is stopped',
  { tags: ['long'] },
  async () => {
    const dir = tempDir()
    const command =
      'echo "$SUPERVISOR_EVENT_RESTARTS" >> log; test -e fast || { touch slow; exec sleep 1000; }'
    const { queue, clock, logged, dropped } = openQueue({ kind: 'command', command, cwd: dir })
    for (let i = 0; i < 150; i++) queue.add(event(i))
    await waitFor('the first, which waits', () => existsSync(join(dir, 'slow')))
    writeFileSync(join(dir, 'fast'), '')
    await clock.pass(1_000)
    await queue.idle()
    const numbers = readFileSync(join(dir, 'log'), 'utf8').trim().split('\n').map(Number)
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => i))
    expect(logged.filter((line) => line.includes('too slow')).length).toBe(1)
    expect(dropped).toEqual(Array.from({ length: 50 }, () => ['page', 1]))
    expect(logged.filter((line) => line.includes('it took more than 1000 ms')).length).toBe(1)
    expect(logged.at(-1)).toContain('"dropped":50')
  },
)

test(
  'slow hooks delay neither a process nor, for long, the stop of the supervisor',
  { tags: ['long'] },
  async () => {
    const dir = tempDir()
    const { ask, until, running } = await startSupervisor(
      { web: { cmd: 'exec sleep 1000' } },
      { hooks: { slow: { on: EVENTS, command: 'touch begun; exec sleep 1000', timeout: '1h' } } },
      dir,
    )
    await until('web', 'running')
    await waitFor('the hook', () => existsSync(join(dir, 'begun')))
    expect((await ask('/processes/web/restart', 'POST')).status).toBe(200)
    expect((await ask('/processes/web')).body.restarts).toBe(1)
    await running.stop()
  },
)

test('a reload replaces hooks without touching processes', async () => {
  const dir = tempDir()
  const settings = (command: string) => ({ hooks: { all: { on: ['restarted'], command } } })
  const processes = { web: { cmd: 'exec sleep 1000' } }
  const { ask, until, running, write } = await startSupervisor(processes, settings('touch first'), dir)
  await until('web', 'running')
  const { pid } = (await ask('/processes/web')).body
  write({
    api: { port: 0 },
    log: { level: 'silent' },
    state_dir: 'state',
    ...settings('touch second'),
    processes,
  })
  expect(await running.reload()).toMatchObject({ changed: [], unchanged: 1 })
  expect((await ask('/processes/web')).body.pid).toBe(pid)
  await ask('/processes/web/restart', 'POST')
  await waitFor('the new hook', () => existsSync(join(dir, 'second')))
  expect(existsSync(join(dir, 'first'))).toBe(false)
})

test.each([
  [{ on: ['failed'] }, 'must have either command or url'],
  [{ on: ['failed'], command: 'a', url: 'http://a' }, 'must have either command or url'],
  [{ on: ['failed'], command: 'a', secret: 'b' }, 'has a secret, which only a url can have'],
  [{ on: ['failed'], url: 'ftp://a' }, 'must have an http or https URL as url'],
  [{ on: ['failed'], url: 'http://a', secret: '$MISSING' }, 'has an empty secret'],
])('an invalid hook is refused: %j', (hook, mistake) => {
  const file = join(tempDir(), 'supervisor.yaml')
  writeFileSync(file, stringify({ hooks: { page: hook } }))
  expect(() => loadSupervisorConfig({ HOME: '/' }, { file })).toThrow(`"hooks.page" ${mistake}`)
  writeFileSync(file, stringify({ processes: { web: { cmd: 'a', hooks: { page: hook } } } }))
  expect(() => loadSupervisorConfig({ HOME: '/' }, { file })).toThrow(`"processes.web.hooks.page" ${mistake}`)
})
