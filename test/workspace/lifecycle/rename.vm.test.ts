import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machineRoots, vmServer } from '../../support/vm/vm-server.ts'
import { makeWorkspace, type TestServer } from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
let server: TestServer
beforeAll(async () => {
  server = await vmServer(roots)
  await makeWorkspace(server.url, { name: 'before' })
})
afterAll(async () => {
  for (const name of ['before', 'after']) await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
  roots.remove()
})

const post = (path: string, body?: object) => server.api(`workspaces/${path}`, 'POST', body)

test('a renamed machine has its files under the new name, also for the next server', async () => {
  expect((await post('before/exec', { command: 'echo kept >file && sync' })).body.exit_status).toBe(0)
  expect((await post('before/rename', { name: 'after' })).status).toBe(409)
  await post('before/stop')
  expect(await post('before/rename', { name: 'after' })).toMatchObject({
    status: 200,
    body: { name: 'after', status: 'stopped' },
  })
  for (const folder of ['instances', 'uppers']) {
    expect(existsSync(join(roots.root, folder, 'before'))).toBe(false)
    expect(existsSync(join(roots.root, folder, 'after'))).toBe(true)
  }
  server = await server.restart()
  expect((await post('after/start')).status).toBe(200)
  expect((await post('after/exec', { command: 'cat file; hostname' })).body.stdout).toBe('kept\nafter\n')
  expect((await server.api('workspaces/before')).status).toBe(404)
})
