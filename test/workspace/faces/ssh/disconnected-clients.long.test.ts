import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import ssh2, { type Client, type ClientChannel } from '../../../../src/lib/ssh/ssh2.ts'
import type { ExecProcess, ExecRequest } from '../../../../src/workspace/backend/backend.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh, type OpenSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let ssh: OpenSsh
let started: Promise<ExecProcess>[] = []
const backend = new (class extends FakeBackend {
  override exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const process = super.exec(name, request)
    started.push(process)
    return process
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

const PROGRAMS = {
  'prints without end': 'cat /dev/zero',
  'prints errors without end': 'cat /dev/zero >&2',
  'prints both without end': 'cat /dev/zero & cat /dev/zero >&2',
  'reads nothing': 'sleep 60',
  'reads all': 'cat >/dev/null; sleep 60',
  'survives the hangup and prints': 'trap "" HUP; sleep 0.2; head -c 5000000 /dev/zero',
  'fails as its client goes': 'trap "echo bye; exit 3" HUP; while :; do sleep 0.01; done',
} as const
const WAYS = {
  'cuts the connection': (_client: Client, _channel: ClientChannel, socket: Socket) =>
    socket.resetAndDestroy(),
  'ends the connection': (_client: Client, _channel: ClientChannel, socket: Socket) => socket.end(),
  disconnects: (client: Client) => client.end(),
  'closes the channel': (_client: Client, channel: ClientChannel) => channel.close(),
  'closes the channel and the connection': (client: Client, channel: ClientChannel) => {
    channel.close()
    client.end()
  },
} as const
const MOMENTS = ['before the program begins', 'while it runs', 'in the middle of an upload'] as const

test.each(
  Object.entries(WAYS).flatMap(([way, leave]) =>
    Object.entries(PROGRAMS).flatMap(([what, command]) =>
      MOMENTS.map((moment) => ({ way, leave, what, command, moment })),
    ),
  ),
)('a client that $way $moment is not an error when the program $what', async ({ leave, command, moment }) => {
  started = []
  const held = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  backend.before.set('exec', () => {
    asked.resolve()
    return held.promise
  })
  onTestFinished(() => void backend.before.delete('exec'))
  const isEarly = moment === 'before the program begins'
  if (!isEarly) held.resolve()
  const logged = server.log().length
  const socket = connect(server.sshPort, '127.0.0.1').on('error', () => undefined)
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  client.connect({ sock: socket, username: 'dev', privateKey: readFileSync(ssh.keyFile) })
  await once(client, 'ready')
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec(command, (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  channel.on('error', () => undefined)
  await asked.promise
  if (!isEarly) await started[0]
  if (moment === 'in the middle of an upload') {
    channel.write(Buffer.alloc(8 * 2 ** 20))
    await new Promise((resolve) => setImmediate(resolve))
  }
  leave(client, channel, socket)
  // Like a client that exits; if it only closed the channel, its input would be read to the end.
  if (moment === 'in the middle of an upload') socket.destroy()
  if (isEarly) {
    await new Promise((resolve) => setImmediate(resolve))
    held.resolve()
  }
  const process = await started[0]
  await process?.exitStatus
  socket.destroy()
  await new Promise((resolve) => setImmediate(resolve))
  const lines = server
    .log()
    .slice(logged)
    .split('\n')
    .filter((line) => line !== '')
  const loud = lines.filter(
    (line) => (JSON.parse(line) as { level: number }).level > 30 || line.includes('"stack"'),
  )
  expect(loud).toEqual([])
})
