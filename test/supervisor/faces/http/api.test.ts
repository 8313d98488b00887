import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HOSTS, ORIGINS } from '../../../contract/hosts.ts'
import { readEventStream } from '../../../support/http/event-stream.ts'
import { sendRaw, statusOf } from '../../../support/http/raw-http.ts'
import { startSupervisor } from '../../../support/supervisor/supervisor.ts'
import { waitFor } from '../../../support/wait-for.ts'

const LONG = { cmd: 'exec sleep 1000' }

test('the status object has the fields of the specification', async () => {
  const { ask, configFile } = await startSupervisor({})
  const { status, body } = await ask('/status')
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: 'running', config_file: configFile, api_version: 'v1' })
  expect(Number.isInteger(body.uptime_seconds)).toBe(true)
})

test('a process has the fields of the specification, with secrets of its environment masked', async () => {
  const { ask, until } = await startSupervisor({ web: { ...LONG, env: { API_KEY: 'hush', MODE: 'dev' } } })
  await until('web', 'running')
  const { body } = await ask('/processes')
  expect(body.processes).toEqual([
    expect.objectContaining({
      name: 'web',
      status: 'running',
      restarts: 0,
      health: 'unknown',
      uptime_seconds: expect.any(Number),
    }),
  ])
  const detail = (await ask('/processes/web')).body
  expect(detail).toMatchObject({
    ...body.processes[0],
    uptime_seconds: expect.any(Number),
    cmd: 'exec sleep 1000',
    env: { API_KEY: '********', MODE: 'dev' },
    healthcheck: { enabled: false, last_check: null, last_output: '', consecutive_failures: 0 },
  })
  expect(process.kill(detail.pid, 0)).toBe(true)
})

test('V4 environment values with secret names are shown only if the configuration allows it', async () => {
  const processes = { web: { ...LONG, env: { API_KEY: 'hush' } } }
  const masked = await startSupervisor(processes)
  expect((await masked.ask('/processes/web')).body.env).toEqual({ API_KEY: '********' })
  const { ask } = await startSupervisor(processes, { api: { port: 0, show_env: true } })
  expect((await ask('/processes/web')).body.env).toEqual({ API_KEY: 'hush' })
})

test("operations return the statuses in the specification's table", async () => {
  const { ask, until } = await startSupervisor({ web: { ...LONG, autostart: false } })
  const post = async (action: string, name = 'web') => {
    const { status, body } = await ask(`/processes/${name}/${action}`, 'POST')
    return [status, body.code ?? body.success]
  }
  expect(await post('stop')).toEqual([409, 'PROCESS_NOT_RUNNING'])
  expect(await post('start')).toEqual([200, true])
  expect(await post('start')).toEqual([409, 'PROCESS_ALREADY_RUNNING'])
  const { pid } = (await ask('/processes/web')).body
  expect(await post('restart')).toEqual([200, true])
  await until('web', 'running')
  expect((await ask('/processes/web')).body).toMatchObject({ restarts: 1 })
  expect((await ask('/processes/web')).body.pid).not.toBe(pid)
  expect(await post('stop')).toEqual([200, true])
  expect((await ask('/processes/web')).body).toMatchObject({ status: 'stopped', pid: 0, uptime_seconds: 0 })
  for (const action of ['start', 'stop', 'restart'])
    expect(await post(action, 'nobody')).toEqual([404, 'PROCESS_NOT_FOUND'])
  expect((await ask('/processes/__proto__')).status).toBe(404)
})

test('a process that cannot be started reports the reason', async () => {
  const { ask } = await startSupervisor({
    web: { cmd: ['/does/not/exist'], autostart: false, restart: 'never' },
  })
  const { status, body } = await ask('/processes/web/start', 'POST')
  expect([status, body.code]).toEqual([500, 'PROCESS_START_FAILED'])
  expect(body.error).toContain('/does/not/exist')
  expect((await ask('/processes/web')).body.status).toBe('crashed')
})

describe('lines', () => {
  const talker = {
    cmd: 'for i in 1 2 3 4 5; do echo "out $i"; done; printf "\\033[31mred\\033[0m\\n" >&2',
    restart: 'never',
  }

  test('logs returns the newest lines within both limits, with counts', async () => {
    const { ask, until } = await startSupervisor({
      one: talker,
      two: { cmd: 'echo other', restart: 'never' },
    })
    await until('one', 'stopped')
    await until('two', 'stopped')
    await waitFor('all lines', async () => (await ask('/logs')).body.total_count === 7)
    const logs = async (query: string) => (await ask(`/logs?${query}`)).body
    const all = await logs('process=one')
    expect([all.filtered_count, all.total_count]).toEqual([6, 7])
    expect(all.logs.filter((each: any) => each.stream === 'stdout').map((each: any) => each.line)).toEqual(
      [1, 2, 3, 4, 5].map((i) => `out ${i}`),
    )
    expect(Object.keys(all.logs[0])).toEqual(['timestamp', 'process', 'stream', 'line'])
    expect(all.logs[0].timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect((await logs('process=one,two')).filtered_count).toBe(7)
    const matched = await logs('pattern=out&lines=2')
    expect([matched.filtered_count, matched.logs.map((each: any) => each.line)]).toEqual([
      5,
      ['out 4', 'out 5'],
    ])
    expect((await logs('pattern=out&bytes=11')).logs.map((each: any) => each.line)).toEqual([
      'out 4',
      'out 5',
    ])
    expect((await logs('pattern=out&bytes=11&lines=1')).logs).toHaveLength(1)
    expect((await logs('pattern=%5Eout%20[12]%24&regex=true')).filtered_count).toBe(2)
    expect((await logs('pattern=%5Eout&regex=false')).filtered_count).toBe(0)
    expect((await logs('pattern=red')).logs[0].line).toContain('\u001b[31m')
    expect((await logs('pattern=red&strip_ansi=true')).logs[0].line).toBe('red')
    expect((await logs('process=nobody')).logs).toEqual([])
    expect((await logs('lines=0')).logs).toEqual([])
  })

  test('V3 V7 invalid patterns and numbers are refused, and costly patterns are answered', async () => {
    const { ask } = await startSupervisor({ a: { cmd: `printf '%040d\\n' 0 | tr 0 a; exec sleep 100` } })
    await waitFor('a line', async () => (await ask('/logs')).body.total_count === 1)
    for (const pattern of ['(', '(?=a)', '(a)\\1', '[z-a]', 'a'.repeat(513)])
      expect(await ask(`/logs?regex=true&pattern=${encodeURIComponent(pattern)}`)).toMatchObject({
        status: 400,
        body: { code: 'INVALID_PATTERN' },
      })
    for (const query of ['lines=-1', 'lines=x', 'lines=1.5', 'bytes=-1', 'regex=yes', 'lines=1&lines=2'])
      expect(await ask(`/logs?${query}`), query).toMatchObject({
        status: 400,
        body: { code: 'INVALID_QUERY' },
      })
    for (const lines of ['10000', '10001', '9'.repeat(20)])
      expect((await ask(`/logs?lines=${lines}`)).status, lines).toBe(200)
    // A backtracking engine would take hours for these.
    for (const pattern of ['^(a+)+$b', '(a|aa)*c', '(.*)*x'])
      expect((await ask(`/logs?regex=true&pattern=${encodeURIComponent(pattern)}`)).status).toBe(200)
  })

  test('a stream sends new lines and resumes after the last one received', async () => {
    const { url, ask } = await startSupervisor({
      a: { cmd: 'i=0; while sleep 0.02; do i=$((i+1)); echo "n $i"; done' },
    })
    const stream = await readEventStream(`${url}/api/v1/logs/stream?process=a`)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    const [first, second] = await stream.first(2)
    expect(Number(second?.id)).toBe(Number(first?.id) + 1)
    const response = await fetch(`${url}/api/v1/logs/stream?process=a`, {
      headers: { 'last-event-id': first?.id ?? '' },
    })
    const reader = response.body?.getReader()
    const chunk = await reader?.read()
    await reader?.cancel()
    expect(new TextDecoder().decode(chunk?.value)).toContain(`"line":"${second?.data.line}"`)
    expect((await ask('/logs/stream?regex=true&pattern=(')).body.code).toBe('INVALID_PATTERN')
  })
})

test('the routes of a disabled proxy report PROXY_NOT_ENABLED', async () => {
  const { ask } = await startSupervisor({})
  for (const path of ['/proxy/requests', '/proxy/requests/stream', '/proxy/requests/1'])
    expect(await ask(path)).toMatchObject({ status: 503, body: { code: 'PROXY_NOT_ENABLED' } })
})

test('V1 a server that listens beyond this machine requires the token of its file', async () => {
  const { url, running, ask } = await startSupervisor(
    { web: LONG },
    { api: { port: 0, host: '0.0.0.0', token_file: 'token' } },
  )
  expect(running.token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(await ask('/status')).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
  for (const wrong of ['x', `${running.token}x`, running.token?.slice(1) ?? ''])
    expect((await ask('/status', 'GET', { authorization: `Bearer ${wrong}` })).status).toBe(401)
  expect((await ask('/status', 'GET', { authorization: `Bearer ${running.token}` })).status).toBe(200)
  expect((await fetch(`${url}/metrics`)).status).toBe(401)
  // The page contains no data and asks for the token.
  expect((await fetch(url)).status).toBe(200)
})

test(
  'V1 a token that is replaced in its file ends requests and streams with the previous one',
  { tags: ['long'] },
  async () => {
    const { url, running, ask, dir } = await startSupervisor(
      { web: LONG },
      { api: { port: 0, token: 'always', token_file: 'token' } },
    )
    const before = { authorization: `Bearer ${running.token}` }
    const after = { authorization: 'Bearer a-token-of-more-than-20-characters' }
    const stream = await fetch(`${url}/api/v1/logs/stream`, { headers: before })
    expect(stream.status).toBe(200)
    const ended = stream.text().catch(() => 'cut')
    writeFileSync(join(dir, 'token'), 'a-token-of-more-than-20-characters\n')
    await waitFor('the new token', async () => (await ask('/status', 'GET', after)).status === 200)
    expect((await ask('/status', 'GET', before)).status).toBe(401)
    expect(await ended).toBe('cut')
  },
)

test('H1 H7 requests for other hosts are refused on every route', async () => {
  const { running } = await startSupervisor({}, { api: { port: 0, allowed_hosts: ['allowed.example'] } })
  for (const path of ['/', '/api/v1/status', '/api/v1/logs/stream?regex=true&pattern=('])
    for (const [host, status] of HOSTS) {
      const answer = statusOf(
        await sendRaw(running.port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      )
      expect(answer, `${path} for "${host}"`).toBe(status === 200 && path.includes('stream') ? 400 : status)
    }
})

test('V2 H2 pages of other sites cannot start or stop anything', async () => {
  const { running, ask } = await startSupervisor({ web: LONG })
  const host = `127.0.0.1:${running.port}`
  for (const path of ['/processes/web/stop', '/processes/web/restart', '/reload', '/shutdown'])
    for (const [headers, isAllowed] of ORIGINS.filter(([, allowed]) => !allowed)) {
      const lines = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value.replace('HOST', host)}\r\n`)
        .join('')
      const answer = await sendRaw(
        running.port,
        `POST /api/v1${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}Content-Length: 0\r\nConnection: close\r\n\r\n`,
      )
      expect(statusOf(answer), `${path} ${JSON.stringify(headers)} ${isAllowed}`).toBe(403)
    }
  expect((await ask('/processes/web')).body).toMatchObject({ status: 'running', restarts: 0 })
})

test('shutdown responds, stops everything, and refuses requests meanwhile', async () => {
  const { running, ask } = await startSupervisor({
    slow: { cmd: "trap 'sleep 0.5; exit 0' TERM; echo up; while :; do sleep 0.05; done" },
  })
  await waitFor('a line', async () => (await ask('/logs')).body.total_count === 1)
  const { pid } = (await ask('/processes/slow')).body
  expect(await ask('/shutdown', 'POST')).toMatchObject({ status: 200, body: { success: true } })
  await running.askedToStop
  const stopped = running.stop()
  for (const [path, method] of [
    ['/status', 'GET'],
    ['/processes', 'GET'],
    ['/shutdown', 'POST'],
  ] as const)
    expect(await ask(path, method)).toMatchObject({ status: 503, body: { code: 'SHUTDOWN_IN_PROGRESS' } })
  await stopped
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  await expect(ask('/status')).rejects.toThrow('fetch failed')
})

test('reload applies changes and touches nothing else', async () => {
  const { ask, write, until, dir } = await startSupervisor({ same: LONG, other: LONG, gone: LONG })
  await until('same', 'running')
  const pids = async () =>
    Object.fromEntries((await ask('/processes')).body.processes.map((each: any) => [each.name, each.pid]))
  const before = await pids()
  const settings = (processes: object) => ({
    api: { port: 0 },
    log: { level: 'silent' },
    state_dir: `${dir}/state`,
    processes,
  })
  write(settings({ same: LONG, other: { ...LONG, env: { A: '1' } }, added: LONG }))
  expect((await ask('/reload', 'POST')).body).toEqual({
    success: true,
    added: ['added'],
    removed: ['gone'],
    changed: ['other'],
    unchanged: 1,
    warnings: [],
  })
  const after = await pids()
  expect(Object.keys(after).toSorted()).toEqual(['added', 'other', 'same'])
  expect(after['same']).toBe(before['same'])
  expect(after['other']).not.toBe(before['other'])
  write({ processes: { same: { cmd: 7 } } })
  expect((await ask('/reload', 'POST')).status).toBe(400)
  expect(await pids()).toEqual(after)
})
