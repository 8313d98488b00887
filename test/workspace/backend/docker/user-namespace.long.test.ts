import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TEST_IMAGE } from '../../../support/engine/docker.ts'
import { canRunEngine, privateEngine, type PrivateEngine } from '../../../support/engine/private-engine.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

describe.runIf(canRunEngine())('an engine with user namespaces', () => {
  const directory = mkdtempSync(join(tmpdir(), 'engine-'))
  let engine: PrivateEngine
  let server: TestServer

  beforeAll(async () => {
    engine = privateEngine(directory, true)
    await engine.start()
    await engine.copyImage(TEST_IMAGE)
    server = await startWorkspaceServer({
      settings: { docker: { host: engine.address, network: 'none' }, ssh: { processes: 0 } },
    })
  }, 120_000)
  afterAll(async () => {
    await server.stop()
    await engine.remove()
    rmSync(directory, { recursive: true, force: true })
  }, 60_000)

  test('root in a workspace is unprivileged outside, and the workspace works', async () => {
    const { status, body } = await server.create({ name: 'remapped' })
    expect([status, body.status]).toEqual([201, 'running'])
    const pid = await engine.docker('inspect', '--format', '{{.State.Pid}}', 'ws-remapped')
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t3\d{5}\t/m)
    // Both run programs inside as the workspace's user.
    expect((await server.api('workspaces/remapped/ports')).status).toBe(200)
    expect((await server.api('workspaces/remapped/sessions')).status).toBe(200)
    expect((await server.api('workspaces/remapped', 'DELETE')).status).toBe(204)
  })
})
