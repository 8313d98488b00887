import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import ssh2, { type ClientChannel } from '../../../../src/lib/ssh/ssh2.ts'
import type { ExecProcess, ExecRequest } from '../../../../src/workspace/backend/backend.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

/** Longest time between a client's last answer and the end of its connection. */
const LIMIT_MS = 60_000

test.each([
  ['prints nothing', 'sleep 600'],
  ['prints without end', 'cat /dev/zero'],
])('F31 a client that answers nothing for a minute loses its program, which %s', async (_what, command) => {
  const started = Promise.withResolvers<ExecProcess>()
  const backend = new (class extends FakeBackend {
    override async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
      const process = await super.exec(name, request)
      started.resolve(process)
      return process
    }
  })()
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  await makeWorkspace(server.url, { name: 'dev' })
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const socket = connect(server.sshPort, '127.0.0.1').on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  const client = new ssh2.Client().on('error', () => undefined)
  client.connect({ sock: socket, username: 'dev', privateKey: readFileSync(ssh.keyFile) })
  await once(client, 'ready')
  await new Promise<ClientChannel>((resolve, reject) => {
    client.exec(command, (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  const { exitStatus } = await started.promise
  // Its kernel still acknowledges, like that of a client that was stopped.
  socket.pause()

  vi.advanceTimersByTime(LIMIT_MS)
  expect((await exitStatus).status).not.toBe(0)
  expect(server.log()).toContain('Keepalive timeout')
})
