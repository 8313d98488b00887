// oxlint-disable no-underscore-dangle -- ssh2's names
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
// Not from ssh2 directly: that would limit the server in this process to short packets.
import ssh2, { type ClientChannel } from '../../../../src/lib/ssh/ssh2.ts'
import type { ExecProcess, ExecRequest } from '../../../../src/workspace/backend/backend.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh, type OpenSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../../support/wait-for.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let ssh: OpenSsh
const sizes: (readonly number[])[] = []
const commands: string[] = []
const backend = new (class extends FakeBackend {
  override async exec(name: string, asked: ExecRequest): Promise<ExecProcess> {
    commands.push(asked.argv.at(-1) ?? '')
    const process = await super.exec(name, asked)
    return { ...process, resize: (columns, rows) => void sizes.push([columns, rows]) }
  }
})()

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [backend] })
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name: 'dev' })
})
afterAll(async () => {
  ssh.remove()
  await server.stop()
})

/** The private fields of an ssh2 client channel that send a request and receive the reply. */
interface ChannelInternals {
  readonly outgoing: { readonly id: number }
  readonly _callbacks: ((isRefused: boolean) => void)[]
  readonly _client: {
    readonly _protocol: {
      readonly _packetRW: {
        readonly write: {
          readonly allocStart: number
          alloc(bytes: number): Buffer
          finalize(packet: Buffer): Buffer
        }
      }
      readonly _cipher: { encrypt(packet: Buffer): void }
    }
  }
}

/** Starts a program and waits until it is running. */
async function begin(command: string) {
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  client.connect({
    host: '127.0.0.1',
    port: server.sshPort,
    username: 'dev',
    privateKey: readFileSync(ssh.keyFile),
  })
  await once(client, 'ready')
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec(`echo begun; ${command}`, (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  let output = ''
  const ended = new Promise<readonly unknown[]>((resolve) => {
    channel.on('exit', (...details: readonly unknown[]) => resolve(details.slice(0, 2)))
  })
  channel.on('data', (bytes: Buffer) => (output += bytes.toString()))
  await waitFor('its first line', () => output.includes('begun\n'))
  return { client, channel, ended }
}

/** Sends a request that wants a reply; resolves with whether it succeeded. */
function request(channel: ClientChannel, type: string, payload = Buffer.alloc(0)): Promise<boolean> {
  const { outgoing, _callbacks: replies, _client: client } = channel as unknown as ChannelInternals
  const { _packetRW: packets, _cipher: cipher } = client._protocol
  const head = Buffer.alloc(10)
  head[0] = 98
  head.writeUInt32BE(outgoing.id, 1)
  head.writeUInt32BE(type.length, 5)
  const message = Buffer.concat([head.subarray(0, 9), Buffer.from(type), Buffer.of(1), payload])
  const packet = packets.write.alloc(message.length)
  message.copy(packet, packets.write.allocStart)
  return new Promise((resolve) => {
    replies.push((isRefused) => resolve(!isRefused))
    cipher.encrypt(packets.write.finalize(packet))
  })
}

const text = (value: string) => Buffer.concat([Buffer.of(0, 0, 0, value.length), Buffer.from(value)])
const size = (columns: number, rows: number) =>
  Buffer.from([columns, rows, 0, 0].flatMap((each) => [0, 0, 0, each]))

test('a signal reaches a program whose input the client has ended', async () => {
  const { channel, ended } = await begin('exec sleep 60')
  channel.end()
  // The server reads in order, so its reply means that it has read EOF.
  await request(channel, 'keepalive@openssh.com')
  // Not ssh2's own method, which sends no signal after EOF.
  expect(await request(channel, 'signal', text('KILL'))).toBe(true)
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('a program reads all of its input before and after a request', async () => {
  const { channel, ended } = await begin('test "$(cat)" = input')
  channel.write('in')
  await request(channel, 'keepalive@openssh.com')
  channel.end('put')
  await request(channel, 'keepalive@openssh.com')
  expect((await ended)[0]).toBe(0)
})

test.each([false, true])(
  'each request that wants a reply gets one, with the input ended: %s',
  async (isEnded) => {
    const { channel } = await begin('sleep 60')
    if (isEnded) channel.end()
    expect(await request(channel, 'keepalive@openssh.com')).toBe(false)
    expect(await request(channel, 'winadj@putty.projects.tartarus.org')).toBe(false)
    expect(await request(channel, 'env', Buffer.concat([text('LANG'), text('C')]))).toBe(false)
    sizes.length = 0
    expect(await request(channel, 'window-change', size(101, 33))).toBe(true)
    await waitFor('the new size', () => sizes.length === 1)
    expect(sizes).toEqual([[101, 33]])
    expect(await request(channel, 'signal', text('USR1'))).toBe(true)
  },
)

test('a second program on the same session is refused, and the first keeps running', async () => {
  const { channel, ended } = await begin('sleep 60')
  const before = commands.length
  for (const [type, payload] of [
    ['exec', text('echo second')],
    ['shell', Buffer.alloc(0)],
    ['subsystem', text('sftp')],
  ] as const)
    expect([type, await request(channel, type, payload)]).toEqual([type, false])
  expect(commands.length).toBe(before)
  channel.signal('TERM')
  expect(await ended).toEqual([null, 'SIGTERM'])
})

test.each([
  [`: ${'x'.repeat(131_070)}`, 'the command is 131072 bytes long'],
  [`: ${'x'.repeat(260_000)}`, 'the command is 260002 bytes long'],
  ['echo a\0b', 'the command contains a NUL byte'],
])('an invalid command fails without affecting others and is logged: %#', async (command, sentence) => {
  const { client, channel, ended } = await begin('cat; exit 7')
  const [status, said] = await new Promise<readonly [number, string]>((resolve, reject) => {
    client.exec(command, (error, refused) => {
      if (error) return reject(error)
      let errors = ''
      refused.resume().stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()))
      refused.on('close', (code: number) => resolve([code, errors]))
    })
  })
  expect([status, said]).toEqual([255, expect.stringContaining(sentence)])
  expect(server.log()).toContain(sentence)
  channel.end()
  expect((await ended)[0]).toBe(7)
})
