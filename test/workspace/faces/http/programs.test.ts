import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { expectError } from '../../../support/workspace/server/expect-error.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'fake', backend: () => new FakeBackend() },
] as const

describeOn(KINDS, 'programs in a workspace', ({ backend, kind }) => {
  const name = uniqueName('programs')
  let server: TestServer
  const post = (path: string, body: unknown) => server.api(`workspaces/${name}/${path}`, 'POST', body)
  const get = (path: string) => server.api(`workspaces/${name}/${path}`)
  const run = async (body: object) => {
    const { status, body: result } = await post('exec', body)
    expect(result, JSON.stringify(result)).toHaveProperty('exit_status')
    return { status, ...result }
  }
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    await makeWorkspace(server.url, { name })
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
  })

  test('a command runs in the shell; its output, exit status and duration are returned', async () => {
    expect(await run({ command: 'echo out; echo error >&2; exit 3' })).toEqual({
      status: 200,
      exit_status: 3,
      signal: null,
      timed_out: false,
      duration_ms: expect.any(Number),
      stdout: 'out\n',
      stderr: 'error\n',
      stdout_dropped_bytes: 0,
      stderr_dropped_bytes: 0,
    })
  })

  test('arguments reach the program unchanged', async () => {
    const argv = ['printf', '<%s>', 'a b', '$HOME', '*', '', '\'"\\', 'é\n']
    expect(await run({ argv })).toMatchObject({ stdout: `<a b><$HOME><*><><'"\\><é\n>`, exit_status: 0 })
  })

  test('directory, environment, input and user apply', async () => {
    const command = 'pwd; echo "$A$HOME_OF"; cat'
    const answer = await run({ command, cwd: '/tmp', env: { A: 'x y', HOME_OF: '$B' }, stdin: 'input' })
    expect(answer.stdout).toBe('/tmp\nx y$B\ninput')
    if (kind === 'docker')
      expect(await run({ command: 'id -un; echo $HOME', user: 'nobody' })).toMatchObject({
        stdout: expect.stringMatching(/^nobody\n\//),
      })
  })

  test('a directory that does not exist is explained by the shell', async () => {
    const { exit_status: status, stderr } = await run({ argv: ['true'], cwd: '/no/such' })
    expect(status).toBe(126)
    expect(stderr).toContain('/no/such')
  })

  test('a program that is not there has the exit status of a shell', async () => {
    expect((await run({ command: 'no-such-program' })).exit_status).toBe(127)
  })

  test('a program without input reads its end at once', async () => {
    expect(await run({ command: 'cat; echo end' })).toMatchObject({ stdout: 'end\n' })
  })

  test('only the end of long output is returned, with the number of dropped bytes', async () => {
    const command = 'head -c 3000000 /dev/zero | tr "\\0" x; echo last'
    const answer = await run({ command, max_output_bytes: 1000 })
    expect(answer.stdout).toBe(`${'x'.repeat(995)}last\n`)
    expect(answer.stdout_dropped_bytes).toBe(3_000_005 - 1000)
  })

  test('binary output can be returned in base64', async () => {
    const { stdout } = await run({ command: "printf '\\000\\377\\200'", encoding: 'base64' })
    expect([...Buffer.from(stdout, 'base64')]).toEqual([0, 255, 128])
  })

  test('a program is terminated after its time, with its children', async () => {
    const answer = await run({ command: 'echo started; sleep 54321 & sleep 54321', timeout_ms: 300 })
    expect(answer).toMatchObject({ timed_out: true, stdout: 'started\n' })
    expect(answer.exit_status).toBe(143)
    const sleeping = async () =>
      (await run({ command: 'ps ax 2>/dev/null | grep -c "[s]leep 54321"' })).stdout.trim()
    if (kind === 'docker') await expect.poll(sleeping).toBe('0')
  })

  // The fake's programs end when their streams do.
  test.runIf(kind === 'docker')(
    'a background child does not hold up the response',
    { tags: ['long'] },
    async () => {
      const answer = await run({ command: 'sleep 30 & echo $!' })
      expect(answer).toMatchObject({ exit_status: 0, stdout: expect.stringMatching(/^\d+\n$/) })
      await run({ command: `kill ${answer.stdout}` })
    },
  )

  test('a program is hung up when its client leaves', async () => {
    const marker = `/tmp/hung-up-${name}`
    // A shell that reports the end of `sleep` to the client that has left gets SIGPIPE first.
    const body = JSON.stringify({
      command: `trap 'echo yes > ${marker}; exit' HUP PIPE; echo ready; while :; do sleep 0.05; done`,
    })
    const asked = request(`${server.url}/api/workspaces/${name}/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    })
    asked.on('error', () => undefined).end(body)
    await new Promise<void>((resolve) => {
      asked.on('response', (response) =>
        response
          .on('error', () => undefined)
          .on('data', (chunk: Buffer) => chunk.includes('ready') && resolve()),
      )
    })
    asked.destroy()
    const left = async () => (await run({ command: `cat ${marker} 2>/dev/null` })).stdout
    await expect.poll(left).toBe('yes\n')
    await run({ command: `rm ${marker}` })
  })

  test('output arrives as events while the program runs', async () => {
    const events = await eventsOf(`${server.url}/api/workspaces/${name}/exec`, {
      method: 'POST',
      body: JSON.stringify({ command: "printf 'é'; sleep 0.2; echo two >&2; exit 5" }),
      headers: { 'content-type': 'application/json' },
    })
    expect(events.map(({ event }) => event)).toEqual(['stdout', 'stderr', 'exit'])
    expect(events[0]?.content).toEqual({ text: 'é' })
    expect(events.at(-1)?.content).toMatchObject({ exit_status: 5, timed_out: false })
  })

  test('a stream has every byte of a long output', async () => {
    const events = await eventsOf(`${server.url}/api/workspaces/${name}/exec`, {
      method: 'POST',
      body: JSON.stringify({ command: 'head -c 5000000 /dev/zero | tr "\\0" x' }),
      headers: { 'content-type': 'application/json' },
    })
    const text = events.filter(({ event }) => event === 'stdout').map(({ content }) => content.text)
    expect(text.join('').length).toBe(5_000_000)
  })

  test.each([
    [{}, 'either command'],
    [{ command: 'true', argv: ['true'] }, 'either command'],
    [{ argv: [] }, 'argv'],
    [{ command: 'a\0b' }, 'NUL'],
    [{ command: 'x'.repeat(131_072) }, '131072 bytes'],
    [{ command: 'true', env: { 'A-B': '1' } }, 'A-B'],
    [{ command: 'true', env: { A: '\0' } }, 'NUL'],
    [{ command: 'true', user: '-x' }, 'user'],
    [{ command: 'true', unknown: 1 }, 'unknown'],
    [{ command: 'true', timeout_ms: 0 }, 'timeout_ms'],
  ])('%j is refused', async (body, message) => {
    for (const path of 'timeout_ms' in body ? ['exec'] : ['exec', 'processes']) {
      const { status, body: answer } = await post(path, body)
      expect(status).toBe(400)
      expect(answer.error).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringContaining(message),
      })
    }
  })

  test('a background process is listed, read in parts, written to and signalled', async () => {
    const { status, body: started } = await post('processes', {
      command: 'while read -r l; do echo "got $l"; done; echo over; sleep 60',
    })
    expect(status).toBe(201)
    expect(started).toMatchObject({ status: 'running', argv: null, exit_status: null, ended_at: null })
    const path = `processes/${started.id}`
    expect((await get('processes')).body.processes).toContainEqual(started)
    expect((await post(`${path}/input`, { text: 'one\n' })).status).toBe(204)
    const output = async (after = 0) => (await get(`${path}/output?after=${after}`)).body
    await expect.poll(async () => textOf(await output())).toBe('got one\n')
    const { next } = await output()
    expect((await output(next)).output).toEqual([])
    await post(`${path}/input`, { text: 'two\n', end: true })
    await expect.poll(async () => textOf(await output(next))).toBe('got two\nover\n')
    expect((await post(`${path}/input`, { text: 'late' })).body.error.code).toBe('PROCESS_ENDED')
    expect((await post(`${path}/signal`, { signal: 'SIGTERM' })).status).toBe(204)
    const state = async () => (await get(path)).body
    await expect
      .poll(state)
      .toMatchObject({ status: 'ended', exit_status: 143, ended_at: expect.any(String) })
    expect((await post(`${path}/signal`, { signal: 'SIGTERM' })).body.error.code).toBe('PROCESS_ENDED')
  })

  test('a stream of output continues after the last event that was received', async () => {
    const { body: started } = await post('processes', {
      command: 'echo 1; echo 2; read go; echo 3; echo 4; exit 6',
    })
    const url = `${server.url}/api/workspaces/${name}/processes/${started.id}/output`
    const first = await eventsOf(url, {}, 1)
    await post(`processes/${started.id}/input`, { text: 'go\n' })
    const rest = await eventsOf(url, { headers: { 'last-event-id': first.at(-1)?.id ?? '' } })
    const text = [...first, ...rest]
      .filter(({ event }) => event === 'stdout')
      .map(({ content }) => content.text)
    expect(text.join('')).toBe('1\n2\n3\n4\n')
    expect(rest.at(-1)).toMatchObject({ event: 'exit', content: { status: 'ended', exit_status: 6 } })
  })

  test('output that is no longer kept is counted', async () => {
    const { body: started } = await post('processes', { command: 'head -c 3000000 /dev/zero | tr "\\0" x' })
    const path = `processes/${started.id}`
    await expect.poll(async () => (await get(path)).body.status).toBe('ended')
    const { body } = await get(`${path}/output`)
    const kept = textOf(body).length
    expect(kept).toBeGreaterThan(500_000)
    expect(kept).toBeLessThanOrEqual(2 ** 20)
    expect(body.dropped_bytes + kept).toBe(3_000_000)
    expect(body.next).toBe(3_000_000)
    const [dropped] = await eventsOf(`${server.url}/api/workspaces/${name}/${path}/output`, {})
    expect(dropped).toMatchObject({ event: 'dropped', content: { bytes: body.dropped_bytes } })
  })

  test('an unknown process is 404 on every route', async () => {
    for (const answer of [
      await get('processes/none'),
      await get('processes/none/output'),
      await post('processes/none/input', { text: '' }),
      await post('processes/none/signal', { signal: 'SIGTERM' }),
    ])
      expectError(answer, 404, 'PROCESS_NOT_FOUND')
  })
})

describe('many background processes', () => {
  test('the first that ended makes room, running ones stay', { tags: ['long'] }, async () => {
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
    await makeWorkspace(server.url, { name: 'crowded' })
    const url = `${server.url}/api/workspaces/crowded/processes`
    const start = (command: string) => call(url, 'POST', { command })
    const { body: ended } = await start('true')
    await expect.poll(async () => (await call(`${url}/${ended.id}`)).body.status).toBe('ended')
    const all = await Promise.all(Array.from({ length: 32 }, () => start('sleep 60')))
    expect(all.map(({ status }) => status)).toEqual(Array(32).fill(201))
    expect((await call(`${url}/${ended.id}`)).status).toBe(404)
    expectError(await start('true'), 503, 'TOO_MANY_PROCESSES')
    await server.api('workspaces/crowded/stop', 'POST')
    const states = async () =>
      new Set(((await call(url)).body.processes as { status: string }[]).map(({ status }) => status))
    await expect.poll(states).toEqual(new Set(['ended']))
    expectError(await start('true'), 409, 'WORKSPACE_NOT_RUNNING')
    await server.stop()
  })
})

function textOf({ output }: { output: readonly { text: string }[] }): string {
  return output.map(({ text }) => text).join('')
}

interface ReceivedEvent {
  readonly event: string
  readonly content: any
  readonly id: string | undefined
}

/** Reads a stream of events to its end, or its first ones. */
async function eventsOf(url: string, init: RequestInit, most = Infinity): Promise<readonly ReceivedEvent[]> {
  const gone = new AbortController()
  const response = await fetch(url, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), accept: 'text/event-stream' },
    signal: gone.signal,
  })
  const events: ReceivedEvent[] = []
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const records = text.split('\n\n')
    text = records.pop() ?? ''
    for (const record of records.filter((each) => !each.startsWith(':'))) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(record)?.[1]
      events.push({
        event: field('event') ?? '',
        content: JSON.parse(field('data') ?? 'null'),
        id: field('id'),
      })
    }
    if (events.length >= most) break
  }
  gone.abort()
  return events
}
