import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findPortHolder } from '../../../src/lib/process/port-holder.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'

const LISTENER =
  "const s = require('node:net').createServer().listen({ port: 0, host: process.argv[1] }, () => console.log(s.address().port))"

async function listener(host: string) {
  const child = spawn(process.execPath, ['-e', LISTENER, host], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return { port: Number(port.toString()), pid: child.pid }
}

test.each(['127.0.0.1', '::1', '0.0.0.0', '::'])('finds the process that listens on %s', async (host) => {
  const { port, pid } = await listener(host)
  expect(findPortHolder(port)).toEqual({
    uid: process.getuid?.(),
    process: { pid, command: expect.stringContaining('createServer()') },
  })
})

test('finds no process for an unused port', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  expect(findPortHolder(port)).toBe(undefined)
})

test.each(['http', 'ssh'])('a second server reports the process that uses its %s port', async (face) => {
  const { port, pid } = await listener('127.0.0.1')
  const started = startWorkspaceServer({
    backends: () => [new FakeBackend()],
    settings: { [face]: { host: '127.0.0.1', port } },
  })
  await expect(started).rejects.toThrow(
    new RegExp(`EADDRINUSE.*stop process ${pid}, which uses it \\(.*node`),
  )
})
