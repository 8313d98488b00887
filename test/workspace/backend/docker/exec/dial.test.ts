import { spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import type { ExecProcess } from '../../../../../src/workspace/backend/backend.ts'
import { dialContainer } from '../../../../../src/workspace/backend/docker/exec/dial.ts'
import { startLoopbackServer } from '../../../../support/http/loopback-server.ts'
import { freePort } from '../../../../support/services/free-port.ts'
import { waitFor } from '../../../../support/wait-for.ts'

/** Stands for a container whose namespace cannot be entered: the relay runs on this machine. */
const ELSEWHERE = { id: 'none', pid: 0 }

async function exec([program = '', ...argv]: readonly string[]): Promise<ExecProcess> {
  const child = spawn(program, argv)
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    hangUp: async () => void child.kill(),
  } as unknown as ExecProcess
}

test.each(['127.0.0.1', '::1'] as const)(
  'the relay reaches a program that listens on %s only',
  async (address) => {
    const { port } = await startLoopbackServer(address)
    const stream = await dialContainer(ELSEWHERE, port, exec)
    let received = ''
    stream.on('data', (bytes: Buffer) => (received += bytes.toString()))
    stream.on('error', () => undefined)
    stream.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await waitFor('the response', () => received.endsWith(address))
    expect(received).toMatch(/^HTTP\/1\.1 200 OK/)
    stream.destroy()
  },
)

test('the relay reports a port on which nothing listens', async () => {
  await expect(dialContainer(ELSEWHERE, await freePort(), exec)).rejects.toMatchObject({
    code: 'CONNECT_FAILED',
  })
})
