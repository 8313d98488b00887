import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { duplexPair } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { serve } from '../../../../guest/agent/serve.ts'
import { endSessions } from '../../../../guest/agent/sessions.ts'
import { encodeMessage, readMessage } from '../../../../src/lib/guest/message.ts'
import { GuestClient, type GuestReach } from '../../../../src/workspace/backend/microvm/guest/guest-client.ts'
import { fault } from '../../../../src/workspace/errors.ts'
import { briefLink } from '../../../support/brief-link.ts'
import { Random } from '../../../support/differential/random.ts'
import { readAll } from '../../../support/read-all.ts'
import { waitFor } from '../../../support/wait-for.ts'

// This checkout's agent in this process, on this machine; test/vm covers what requires a separate VM.
const client = new GuestClient(() =>
  Promise.resolve({
    dialGuest: () => {
      const [host, guest] = duplexPair()
      void serve(guest)
      return Promise.resolve(host)
    },
    environment: { FROM_CREATION: 'a = b' },
    user: '0',
    bootKey: '1',
  }),
)
const output = async (argv: readonly string[], stdin = '') => {
  const process = await client.exec('any', { argv })
  process.stdin.end(stdin)
  const [stdout, stderr, status] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.exitStatus,
  ])
  return { stdout, stderr, status }
}

test('a program reads its input to the end and reports both outputs and its status', async () => {
  const script = 'cat; echo err >&2; exit 7'
  expect(await output(['/bin/sh', '-c', script], 'in')).toEqual({
    stdout: 'in',
    stderr: 'err\n',
    status: { status: 7 },
  })
})

test('a program terminated by a signal reports the signal', async () => {
  const { status } = await output(['/bin/sh', '-c', 'kill -TERM $$'])
  expect(status).toEqual({ status: 143, signal: 'SIGTERM' })
})

test.each([
  ['one that is missing', ['/nonexistent'], 127],
  ['one that may not be run', ['/etc/passwd'], 126],
])('a program that cannot be run, %s, exits with %j', async (_what, argv, status) => {
  expect((await output(argv)).status).toEqual({ status })
})

test('a background child keeps the output open, and the status is reported immediately', async () => {
  const process = await client.exec('any', {
    argv: ['/bin/sh', '-c', 'sleep 30 & echo started'],
    stdin: false,
  })
  expect(await process.exitStatus).toEqual({ status: 0 })
  expect(process.stdout.readableEnded).toBe(false)
  await process.hangUp()
})

test('a terminal has its size, and its programs receive the hangup', async () => {
  const process = await client.exec('any', {
    argv: ['/bin/sh', '-c', 'stty size; trap "exit 3" HUP; echo trapped; while :; do sleep 0.05; done'],
    terminal: { columns: 100, rows: 30 },
  })
  let seen = ''
  for await (const chunk of process.stdout) {
    seen += String(chunk)
    if (seen.includes('trapped')) break
  }
  expect(seen).toBe('30 100\r\ntrapped\r\n')
  await process.hangUp()
})

test('a listening port is dialed with both halves, and a closed one is reported', async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void text(socket).then((heard) => socket.end(`heard ${heard}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const connection = await client.dial('any', port)
  connection.end('this')
  expect(await text(connection)).toBe('heard this')
  server.close()
  await expect(client.dial('any', 1)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
})

test.each([
  ['a request that there is none of', { do: 'nothing' }, 'BAD_REQUEST'],
  ['a port that is none', { do: 'dial', port: '80' }, 'BAD_REQUEST'],
  ['a program without a name', { do: 'exec', argv: [], environment: {}, stdin: false }, 'BAD_REQUEST'],
  [
    'a user that is none',
    { do: 'exec', argv: ['true'], environment: {}, stdin: false, user: 'nobody-here' },
    'NO_SUCH_USER',
  ],
])('%s is refused with a code', async (_what, request, code) => {
  const [host, guest] = duplexPair()
  void serve(guest)
  host.write(encodeMessage(request))
  expect(await readMessage(host)).toMatchObject({ ok: false, code })
})

test('B4 a message over the size limit closes the connection', async () => {
  const [host, guest] = duplexPair()
  void serve(guest)
  host.write(Buffer.from([0xff, 0xff, 0xff, 0xff]))
  expect(await readMessage(host)).toMatchObject({ ok: false })
  expect(await text(host)).toBe('')
})

/** A client whose connections break after some bytes, and how many were made. */
function clientOfBriefLinks(mostBytes: number) {
  const random = new Random(7)
  let links = 0
  const reach: GuestReach = {
    dialGuest: () => {
      links += 1
      const [host, guest] = briefLink(random, mostBytes)
      void serve(guest)
      return Promise.resolve(host)
    },
    environment: {},
    user: '0',
    bootKey: '1',
  }
  return { client: new GuestClient(() => Promise.resolve(reach)), links: () => links }
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

test(
  'F38 a program gets its whole input and all its output is read while connections break',
  { tags: ['long'] },
  async () => {
    const { client: brief, links } = clientOfBriefLinks(2_000_000)
    const sent = randomBytes(20_000_000)
    const process = await brief.exec('any', { argv: ['/bin/sh', '-c', 'cat; echo end >&2; exit 7'] })
    process.stdin.end(sent)
    const [stdout, stderr, status] = await Promise.all([
      buffer(process.stdout),
      text(process.stderr),
      process.exitStatus,
    ])
    expect(hash(stdout)).toBe(hash(sent))
    expect({ stderr, status }).toEqual({ stderr: 'end\n', status: { status: 7 } })
    expect(links()).toBeGreaterThan(10)
  },
)

test(
  'F38 a dialed port gets and sends every byte while connections break, and sees the end',
  { tags: ['long'] },
  async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { client: brief, links } = clientOfBriefLinks(2_000_000)
    const sent = randomBytes(20_000_000)
    const connection = await brief.dial('any', port)
    const reading = readAll(connection)
    connection.end(sent)
    expect(hash(await reading)).toBe(hash(sent))
    expect(links()).toBeGreaterThan(10)
    server.close()
  },
)

/** A client whose links can be cut, and whose workspace can change. */
function cuttableClient() {
  let cut = (): void => undefined
  let reach = (): Promise<GuestReach> => Promise.resolve(first)
  const first: GuestReach = {
    dialGuest: () => {
      const [host, guest] = duplexPair()
      cut = () => (host.destroy(), guest.destroy())
      void serve(guest)
      return Promise.resolve(host)
    },
    environment: {},
    user: '0',
    bootKey: '1',
  }
  return {
    client: new GuestClient(() => reach()),
    first,
    cutInto: (next: () => Promise<GuestReach>): void => {
      reach = next
      cut()
    },
  }
}

test.each([
  ['has stopped', (_first: GuestReach) => Promise.reject(fault('WORKSPACE_NOT_RUNNING', 'stopped'))],
  ['was started again', (first: GuestReach) => Promise.resolve({ ...first, bootKey: '2' })],
])('a program of a workspace that %s ends with its connection', async (_what, next) => {
  const { client: cuttable, first, cutInto } = cuttableClient()
  const process = await cuttable.exec('any', { argv: ['/bin/cat'] })
  cutInto(() => next(first))
  await expect(process.exitStatus).rejects.toThrow('the workspace stopped while the program was running')
})

test('a program waits while its workspace is suspended', async () => {
  const { client: cuttable, first, cutInto } = cuttableClient()
  const process = await cuttable.exec('any', { argv: ['/bin/cat'] })
  let attempts = 0
  const suspended: GuestReach = {
    ...first,
    dialGuest: () => Promise.reject(new Error(`it is suspended, ${(attempts += 1)}`)),
  }
  cutInto(() => Promise.resolve(suspended))
  process.stdin.end('written meanwhile')
  await waitFor('attempts', () => attempts > 2)
  cutInto(() => Promise.resolve(first))
  expect(await text(process.stdout)).toBe('written meanwhile')
  expect(await process.exitStatus).toEqual({ status: 0 })
})

test('a forked machine ends the sessions of the one whose memory it continues', async () => {
  const { client: cuttable } = cuttableClient()
  const process = await cuttable.exec('any', { argv: ['/bin/cat'] })
  endSessions()
  await expect(process.exitStatus).rejects.toThrow('the workspace stopped')
})
