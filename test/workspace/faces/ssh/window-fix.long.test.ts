import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { openSsh, type OpenSsh } from '../../../support/workspace/ssh/open-ssh.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let ssh: OpenSsh

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name: 'dev' })
})
afterAll(async () => {
  ssh.remove()
  await server.stop()
})

/**
 * Regression: ssh2 1.17.0 kept the chunk that had filled the client's window and sent it again with every later window on
 * standard output, and sent nothing on standard error. `make` with many warnings hung and its output was corrupted. Numbered
 * lines reveal both duplicate and lost chunks.
 */
test.each([1, 2, 3, 4, 5])(
  'two outputs far larger than the window arrive complete, round %i',
  async (round) => {
    const [first, last] = [1_000_000, 2_050_000]
    const { status, stdout, stderr } = await ssh.run(
      'dev',
      `seq ${first} ${last} & seq ${last} -1 ${first} >&2; wait; exit ${round}`,
    )
    const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    expect(stdout.length).toBeGreaterThan(8_000_000)
    expect(stdout.equals(Buffer.from(`${numbers.join('\n')}\n`))).toBe(true)
    expect(stderr === `${numbers.toReversed().join('\n')}\n`).toBe(true)
    expect(status).toBe(round)
  },
)
