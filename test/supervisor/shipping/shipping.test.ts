import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { stringify } from 'yaml'
import { expect, onTestFinished, test } from 'vitest'
import { showSettings } from '../../../src/lib/config/show.ts'
import { supervisorSchema } from '../../../src/supervisor/config-schema.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { createPortableLogStore } from '../../../src/supervisor/log/portable-log-store.ts'
import { ProcessLogs } from '../../../src/supervisor/log/process-logs.ts'
import type { Destination } from '../../../src/supervisor/shipping/destination.ts'
import { openDestination } from '../../../src/supervisor/shipping/open-destination.ts'
import { Shipper } from '../../../src/supervisor/shipping/shipper.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const TWO_LINES = 'printf "\\033[31mone\\033[0m é\\n"; echo two >&2'
const TALKER = { cmd: `${TWO_LINES}; exec sleep 1000` }
const SYSLOG_LINES = [/^<30>1 \S+Z \S+ web - - - one é$/, /^<27>1 \S+Z \S+ web - - - two$/]

/** Collects what a server receives on all its connections. */
async function collect(server: Server, ...at: readonly (string | number)[]) {
  const received: string[] = []
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setEncoding('utf8').on('data', (chunk: string) => received.push(chunk))
    socket.on('error', () => undefined)
  })
  server.listen(...(at as [number, string]))
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { text: () => received.join(''), sockets }
}

/** Splits messages that have their length in front. */
function messagesIn(stream: string): readonly string[] {
  const messages: string[] = []
  for (let rest = Buffer.from(stream); rest.length > 0;) {
    const space = rest.indexOf(' ')
    const end = space + 1 + Number(rest.subarray(0, space))
    messages.push(rest.subarray(space + 1, end).toString())
    rest = rest.subarray(end)
  }
  return messages
}

/** Both streams are read independently. */
const sorted = (lines: readonly string[]): readonly string[] => lines.toSorted().toReversed()

test('lines are appended to a file as JSON, which is rotated', async () => {
  const dir = tempDir()
  mkdirSync(join(dir, 'logs'))
  await startSupervisor(
    { web: { cmd: 'seq 2000; exec sleep 1000' } },
    {
      log: {
        level: 'silent',
        max_file_bytes: '40KiB',
        keep_files: 9,
        ship: { all: { file: 'logs/all.json' } },
      },
    },
    dir,
  )
  const files = () => readdirSync(join(dir, 'logs')).toSorted((a, b) => b.localeCompare(a))
  const records = () =>
    files().flatMap((file) =>
      readFileSync(join(dir, 'logs', file), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    )
  await waitFor('all lines', () => records().length === 2_000)
  expect(records().map(({ message }) => Number(message))).toEqual(
    Array.from({ length: 2_000 }, (_, i) => i + 1),
  )
  expect(records()[0]).toEqual({
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    process: 'web',
    stream: 'stdout',
    message: '1',
  })
})

test.each(['tcp', 'unix'])(
  'lines are sent to a syslog server over %s, again after it closed',
  async (transport) => {
    const dir = tempDir()
    const path = join(dir, 'syslog.socket')
    const server = createServer()
    const { text: received, sockets } = await collect(
      server,
      ...(transport === 'tcp' ? [0, '127.0.0.1'] : [path]),
    )
    const address = server.address()
    const syslog = transport === 'tcp' ? `tcp://127.0.0.1:${(address as AddressInfo).port}` : `unix://${path}`
    const web = { cmd: `${TWO_LINES}; until test -e go; do sleep 0.01; done; echo three; exec sleep 1000` }
    await startSupervisor({ web }, { log: { level: 'silent', ship: { central: { syslog } } } }, dir)
    await waitFor('both lines', () => messagesIn(received()).length === 2)
    const [first, second] = sorted(messagesIn(received()))
    expect(first).toMatch(SYSLOG_LINES[0] ?? /x/)
    expect(second).toMatch(SYSLOG_LINES[1] ?? /x/)
    expect(first).toContain(` ${hostname()} `)
    // The next line needs another connection.
    const closed = [...sockets].map((socket) => once(socket, 'close'))
    for (const socket of sockets) socket.end()
    await Promise.all(closed)
    writeFileSync(join(dir, 'go'), '')
    await waitFor('the third', () => messagesIn(received()).some((message) => message.endsWith(' three')))
    expect(sockets.size).toBe(2)
  },
)

/** Runs a syslog server on a datagram socket, which reads after it gets a line on its standard input. */
function startReceiver(path: string) {
  const program = `
import socket, sys, os
if os.path.exists(sys.argv[1]): os.unlink(sys.argv[1])
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print("bound", flush=True)
sys.stdin.readline()
while True: print(server.recv(65536).decode(errors="replace"), flush=True)
`
  const child = spawn('python3', ['-c', program, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  return {
    bound: () => waitFor('the socket', async () => output.includes('bound\n')),
    read: () => child.stdin.write('\n'),
    lines: () => output.split('\n').slice(1, -1),
    end: async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

test(
  'lines are sent to a datagram socket once each, also past a full queue and a restart of its server',
  { tags: ['long'] },
  async () => {
    const dir = tempDir()
    const path = join(dir, 'log')
    const long = 'x'.repeat(10_000)
    const { ask } = await startSupervisor(
      {
        web: {
          cmd: `seq 1 2000; echo two >&2; echo ${long}; while [ ! -e more ]; do sleep 0.05; done; echo more; exec sleep 100`,
        },
      },
      { log: { level: 'silent', ship: { local: { syslog: `unix://${path}` } } } },
      dir,
    )
    // There is no socket at first.
    await waitFor('the lines', async () => (await ask('/logs')).body.total_count === 2002)
    const first = startReceiver(path)
    await first.bound()
    // The queue of a socket is full after a few datagrams, and the supervisor answers meanwhile.
    expect((await ask('/status')).status).toBe(200)
    first.read()
    await waitFor('all lines', async () => first.lines().length >= 2002)
    const numbers = first
      .lines()
      .flatMap((line) => /^<30>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d web: (\d+)$/.exec(line)?.[1] ?? [])
    expect(numbers).toEqual(Array.from({ length: 2_000 }, (_, at) => String(at + 1)))
    expect(first.lines().filter((line) => /^<27>.* web: two$/.test(line))).toHaveLength(1)
    expect(first.lines().find((line) => line.includes('xxx'))).toHaveLength(8_192)

    await first.end()
    writeFileSync(join(dir, 'more'), '')
    const second = startReceiver(path)
    await second.bound()
    second.read()
    await waitFor('the line after the restart', async () => second.lines().length > 0)
    expect(second.lines()).toEqual([expect.stringMatching(/ web: more$/)])
  },
)

test('lines are sent to a syslog server as datagrams', async () => {
  const server = createSocket('udp4').bind(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const received: string[] = []
  server.on('message', (bytes) => received.push(bytes.toString()))
  const syslog = `udp://127.0.0.1:${server.address().port}`
  await startSupervisor({ web: TALKER }, { log: { level: 'silent', ship: { central: { syslog } } } })
  await waitFor('both lines', () => received.length === 2)
  const [first, second] = sorted(received)
  expect(first).toMatch(SYSLOG_LINES[0] ?? /x/)
  expect(second).toMatch(SYSLOG_LINES[1] ?? /x/)
})

test('lines are sent to a collector, again after a failure, and those of the stop too', async () => {
  const bodies: any[] = []
  const headers: unknown[] = []
  const collector = createHttpServer((asked, answer) => {
    const receive = async (): Promise<void> => {
      bodies.push(JSON.parse(await text(asked)))
      headers.push(asked.headers['x-key'])
      answer.statusCode = bodies.length === 1 ? 503 : 200
      answer.end('{}')
    }
    void receive()
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  onTestFinished(() => void collector.close())
  const { port } = collector.address() as AddressInfo
  const otlp = `http://127.0.0.1:${port}/v1/logs`
  const { running } = await startSupervisor(
    { web: { cmd: 'trap "echo bye; exit" TERM; echo hello; while :; do sleep 0.01; done' } },
    { log: { level: 'silent', ship: { collector: { otlp, headers: { 'x-key': 'k' } } } } },
  )
  await waitFor('the second attempt', () => bodies.length === 2)
  expect(bodies[1]).toEqual(bodies[0])
  expect(headers).toEqual(['k', 'k'])
  const [resource] = bodies[1].resourceLogs
  expect(resource.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'web' } })
  expect(resource.scopeLogs[0].logRecords).toEqual([
    {
      timeUnixNano: expect.stringMatching(/^\d{13}000000$/),
      observedTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      body: { stringValue: 'hello' },
      attributes: [{ key: 'log.iostream', value: { stringValue: 'stdout' } }],
    },
  ])
  await running.stop()
  expect(JSON.stringify(bodies)).toContain('"bye"')
})

/** Opens a shipper of the lines that the test prints. */
function openShipper(destination: Destination, lines = 1_000) {
  const store = createPortableLogStore()
  const logs = new ProcessLogs(store)
  const source = logs.open('web', { ...processSpec('web').log, bufferLines: lines, bufferBytes: 2 ** 20 })
  const through = new PassThrough()
  source.attach(0, through)
  const clock = new FakeClock()
  const logged: string[] = []
  const log = (...words: readonly unknown[]) => void logged.push(JSON.stringify(words))
  const shipper = new Shipper('all', destination, { logs, clock, logger: { info: log, warn: log } as never })
  const print = (from: number, to: number): void => {
    for (let i = from; i < to; i++) through.write(`${i}\n`)
  }
  return { shipper, clock, logged, print, printed: () => source.counts().end }
}

test('during an outage the store keeps the newest lines, and the dropped ones are counted', async () => {
  let isUp = false
  let attempts = 0
  const received: number[] = []
  const { shipper, clock, logged, print, printed } = openShipper(
    {
      send: async (lines) => {
        attempts++
        if (!isUp) throw new Error('not reachable')
        received.push(...lines.map(({ text: line }) => Number(line)))
        return 0
      },
      close: () => undefined,
    },
    100,
  )
  print(0, 10)
  await waitFor('the first attempt', () => attempts === 1)
  print(10, 500)
  await waitFor('all lines', () => printed() === 500)
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) await clock.pass(1_000)
  }
  await pass(60)
  // Again after 1, 2, 4, 8 and 16 s.
  expect(attempts).toBe(6)
  isUp = true
  await pass(30)
  await waitFor('the newest', () => received.at(-1) === 499)
  await shipper.close(1_000)
  expect(received).toEqual([
    ...Array.from({ length: 10 }, (_, i) => i),
    ...Array.from({ length: 100 }, (_, i) => 400 + i),
  ])
  expect(logged.filter((line) => line.includes('not reachable')).length).toBe(1)
  expect(logged.filter((line) => line.includes('again')).length).toBe(2)
  expect(logged.some((line) => line.includes('"lines":390'))).toBe(true)
})

test('a destination that does not answer delays the end for a limited time', async () => {
  const { shipper, clock, logged, print, printed } = openShipper({
    send: (_lines, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
    close: () => undefined,
  })
  print(0, 1_500)
  await waitFor('all lines', () => printed() === 1_500)
  const closed = shipper.close(3_000)
  await clock.pass(3_000)
  await closed
  expect(logged.some((line) => line.includes('lines were not sent'))).toBe(true)
})

test('lines that a collector refuses are counted, not sent again', async () => {
  let requests = 0
  const answers = [
    [400, ''],
    [200, '{"partialSuccess":{"rejectedLogRecords":"2"}}'],
    [200, 'not JSON'],
  ] as const
  const collector = createHttpServer((asked, answer) => {
    asked.resume()
    const [status, body] = answers[requests++] ?? [500, '']
    answer.statusCode = status
    answer.end(body)
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  onTestFinished(() => void collector.close())
  const { port } = collector.address() as AddressInfo
  const { send } = openDestination({ kind: 'otlp', url: `http://127.0.0.1:${port}/`, headers: {} })
  const line = { sequence: 1, timeMs: 1, process: 'web', stream: 'stdout', text: 'x', isCut: false } as const
  const { signal } = new AbortController()
  expect(await send([line, line, line], signal)).toBe(3)
  expect(await send([line, line, line], signal)).toBe(2)
  expect(await send([line, line, line], signal)).toBe(0)
  await expect(send([line], new AbortController().signal)).resolves.toBe(1)
})

test('a file destination writes a batch again as a whole after a failure', async () => {
  const dir = tempDir()
  const path = join(dir, 'later', 'all.json')
  const { send, close } = openDestination({ kind: 'file', path, maxBytes: 2 ** 20, keep: 1 })
  onTestFinished(close)
  const line = { sequence: 1, timeMs: 1, process: 'web', stream: 'stdout', text: 'x', isCut: true } as const
  const { signal } = new AbortController()
  await expect(send([line], signal)).rejects.toThrow('ENOENT')
  mkdirSync(join(dir, 'later'))
  expect(await send([line], signal)).toBe(0)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ message: 'x', partial: true })
  expect(existsSync(`${path}.1`)).toBe(false)
})

test.each([
  [{}, 'must have one of file, syslog and otlp'],
  [{ file: 'a', otlp: 'http://a' }, 'must have one of file, syslog and otlp'],
  [{ otlp: 'ftp://a' }, 'must have an http or https URL as otlp'],
  [{ syslog: 'logs.example.com' }, 'must have udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH as syslog'],
  [{ syslog: 'http://a' }, 'must have udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH as syslog'],
])('an invalid destination is refused: %j', (one, mistake) => {
  const file = join(tempDir(), 'supervisor.yaml')
  writeFileSync(file, stringify({ log: { ship: { all: one } } }))
  expect(() => loadSupervisorConfig({ HOME: '/' }, { file })).toThrow(`"log.ship.all" ${mistake}`)
})

test('addresses of destinations are resolved, and headers are not shown', () => {
  const file = join(tempDir(), 'supervisor.yaml')
  const ship = {
    a: { syslog: 'udp://[::1]:5514' },
    b: { syslog: 'tcp://$LOGS' },
    c: { syslog: 'unix:///run/a%20b' },
    d: { otlp: 'http://a/', headers: { authorization: 'Bearer $KEY' } },
  }
  writeFileSync(file, stringify({ log: { ship } }))
  const { config, settings } = loadSupervisorConfig({ HOME: '/', LOGS: 'logs', KEY: 'k' }, { file })
  expect(config.destinations).toEqual([
    ['a', { kind: 'syslog', transport: 'udp', host: '::1', port: 5514 }],
    ['b', { kind: 'syslog', transport: 'tcp', host: 'logs', port: 514 }],
    ['c', { kind: 'syslog', transport: 'unix', host: '/run/a b', port: 0 }],
    ['d', { kind: 'otlp', url: 'http://a/', headers: { authorization: 'Bearer k' } }],
  ])
  expect(showSettings(supervisorSchema, settings)).not.toContain('Bearer')
})
