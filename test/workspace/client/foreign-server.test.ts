import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SupervisorClient } from '../../../src/supervisor/faces/cli/client.ts'
import { WorkspaceClient } from '../../../src/workspace/client/client.ts'

/** A server that answers each request with the last segment of its path. */
const strange = createServer(({ url = '' }, response) => {
  response.end(decodeURIComponent(url.slice(url.lastIndexOf('/') + 1)))
})
let url: string

beforeAll(
  () =>
    new Promise<void>((resolve) => {
      strange.listen(0, '127.0.0.1', () => {
        url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`
        resolve()
      })
    }),
)
afterAll(() => void strange.close())

test.each(['', '<html>log in</html>', 'null', '[]', '"text"', '{'])(
  'a client rejects an answer that is not from its server: %j',
  async (body) => {
    const path = `/${encodeURIComponent(body)}`
    const workspaces = new WorkspaceClient({ name: 'near', url })
    const unreachable = {
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('not from a workspace server'),
    }
    await expect(workspaces.get(path)).rejects.toMatchObject(unreachable)
    await expect(workspaces.post(path)).rejects.toMatchObject(unreachable)
    await expect(new SupervisorClient(url, undefined).get(path)).rejects.toMatchObject({
      code: 'SUPERVISOR_UNREACHABLE',
      message: expect.stringContaining('not a supervisor'),
    })
  },
)
