import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { TEST_IMAGE } from '../../support/engine/docker.ts'
import { canRunEngine, privateEngine, type PrivateEngine } from '../../support/engine/private-engine.ts'
import { recovery } from '../../support/recovery.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

describe.runIf(canRunEngine())('F15 a real Docker engine', () => {
  const directory = mkdtempSync(join(tmpdir(), 'engine-'))
  let engine: PrivateEngine
  let server: TestServer
  const statusOf = async (name: string) => (await server.api(`workspaces/${name}`)).body.status as string
  const becomes = (name: string, status: string) =>
    waitFor(`${name} to be ${status}`, async () => (await statusOf(name)) === status)
  const comesBack = (context: TestContext) =>
    recovery(context, () => waitFor('the engine to be enabled', isEnabled))
  const isEnabled = async () => (await server.api('info')).body.enabled_backends.length === 1

  beforeAll(async () => {
    mkdirSync(join(directory, 'state'))
    engine = privateEngine(directory)
    await engine.start()
    await engine.copyImage(TEST_IMAGE)
    server = await startWorkspaceServer({
      settings: { docker: { host: engine.address, network: 'host' }, ssh: { processes: 0 } },
    })
  }, 120_000)
  afterAll(async () => {
    await server.stop()
    await engine.remove()
    rmSync(directory, { recursive: true, force: true })
  }, 60_000)

  /** Answers while the engine is not there, so it does not wait for it. */
  const refuses = async () => {
    const answer = await server.create({ name: 'late' })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'BACKEND_UNAVAILABLE'])
  }

  test('F15 frozen: requests fail, cached state is served, and all works afterwards', async (context) => {
    expect((await server.create({ name: 'frozen' })).status).toBe(201)
    await engine.signal('SIGSTOP')
    await refuses()
    expect(await isEnabled()).toBe(false)
    expect(await statusOf('frozen')).toBe('running')
    await engine.signal('SIGCONT')
    await comesBack(context)
    expect((await server.api('workspaces/frozen/stop', 'POST')).body.status).toBe('stopped')
  })

  test('F15 killed: nothing is deleted, and the status is correct after its restart', async (context) => {
    expect((await server.create({ name: 'killed' })).status).toBe(201)
    await engine.signal('SIGKILL')
    await refuses()
    await engine.start()
    await comesBack(context)
    const inEngine = await engine.docker('inspect', '-f', '{{.State.Running}}', 'ws-killed')
    await becomes('killed', inEngine === 'true' ? 'running' : 'stopped')
    if (inEngine === 'false') expect((await server.api('workspaces/killed/start', 'POST')).status).toBe(200)
    expect((await server.api('workspaces/late')).status).toBe(404)
    expect((await server.api('workspaces')).body.workspaces).toHaveLength(2)
  })

  test('F15 stopped cleanly: its workspaces are stopped when it is back', async (context) => {
    await becomes('killed', 'running')
    await engine.signal('SIGTERM')
    await refuses()
    await engine.start()
    await comesBack(context)
    await becomes('killed', 'stopped')
    for (const name of ['killed', 'frozen']) {
      expect((await server.api(`workspaces/${name}`, 'DELETE')).status).toBe(204)
    }
    expect(await engine.docker('ps', '-aq')).toBe('')
    expect(await engine.docker('volume', 'ls', '-q')).toBe('')
  })

  // container-exits.test.ts covers each kind of end, with the machine's own engine.
  test('F15 external changes are noticed again after the engine was down', async () => {
    expect((await server.create({ name: 'broken' })).status).toBe(201)
    await engine.docker('kill', 'ws-broken')
    await waitFor('the end', async () => (await statusOf('broken')) === 'stopped')
    expect((await server.api('workspaces/broken/start', 'POST')).status).toBe(200)
    await engine.docker('rm', '-f', 'ws-broken')
    await waitFor('the loss', async () => (await statusOf('broken')) === 'error')
    expect((await server.api('workspaces/broken', 'DELETE')).status).toBe(204)
    expect(await engine.docker('volume', 'ls', '-q')).toBe('')
  })
})
