import { once } from 'node:events'
import type { Socket } from 'node:net'
import ssh2 from 'ssh2'
import { expect, onTestFinished, test, vi } from 'vitest'
import { generateHostKey } from '../../../../src/workspace/faces/ssh/host-key.ts'
import { sshServer } from '../../../support/ssh-server.ts'

const received: number[] = []
vi.mock('../../../../src/native/tcp.ts', () => ({
  acknowledgeNow: (socket: Socket) => void received.push(socket.bytesRead),
}))

// OpenSSH uses Nagle's algorithm until the login: it keeps its key back until its algorithms are acknowledged, for 40 ms by default.
test('each packet of a login is acknowledged at once, and none afterwards', async () => {
  const { port } = await sshServer()
  const client = new ssh2.Client()
  onTestFinished(() => void client.destroy())
  client.connect({ host: '127.0.0.1', port, username: 'dev', privateKey: generateHostKey() })
  await once(client, 'ready')
  // Its version and algorithms, its key, and its signature, in one packet or several each.
  expect(received.length).toBeGreaterThanOrEqual(3)
  expect(new Set(received).size).toBe(received.length)
  const calls = received.length
  await new Promise<void>((resolve) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 1, () => resolve()))
  expect(received).toHaveLength(calls)
})
