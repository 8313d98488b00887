import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { docker, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { engineProxy } from '../../support/engine/engine-proxy.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { serve } from '../../support/served.ts'
import { stuckGitServer } from '../../support/services/stuck-git-server.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, makeWorkspace } from '../../support/workspace/server/test-server.ts'

/** Much longer than the server's limit, because a busy machine adds to it; without one, requests would hang. */

async function world() {
  const proxy = await engineProxy()
  await proxy.prepareFreeze()
  const server = await serve({ stateDir: join(tempDir(), 'state'), engine: proxy.address })
  const at = (path: string) => `${server.url}/api${path}`
  return {
    proxy,
    server,
    at,
    stateOf: async (name: string) => (await call(at(`/workspaces/${name}`))).body.status as string,
    enabled: async () => (await call(at('/info'))).body.enabled_backends as readonly string[],
    make: async (stem: string) => {
      const name = uniqueName(stem)
      onTestFinished(() => removeLeftovers(name))
      await makeWorkspace(server.url, { name })
      return name
    },
  }
}

test('F15 requests fail while the engine hangs, without waiting for it, and nothing is lost', async () => {
  const { proxy, server, at, stateOf, enabled, make } = await world()
  const [kept, stopped, removed] = [await make('kept'), await make('stopped'), await make('removed')]
  const [halfMade, late] = [uniqueName('half'), uniqueName('late')]
  onTestFinished(() => removeLeftovers(halfMade))
  onTestFinished(() => removeLeftovers(late))
  const ssh = await openSsh(server)
  onTestFinished(() => ssh.remove())

  // The engine hangs during a creation: it receives this request but never responds.
  const frozen = new Promise<void>((resolve) => {
    proxy.onRequest = (request) => {
      if (request !== 'POST /containers/create') return 'pass'
      proxy.freeze()
      resolve()
      return 'pass'
    }
  })
  const creation = call(at('/workspaces'), 'POST', { name: halfMade })
  await frozen
  const answers = await Promise.all([
    creation,
    call(at(`/workspaces/${kept}/stop`), 'POST'),
    call(at(`/workspaces/${stopped}`), 'DELETE'),
    call(at('/workspaces'), 'POST', { name: late }),
  ])
  for (const { status, body } of answers) {
    expect([status, body.error.code]).toEqual([503, 'BACKEND_UNAVAILABLE'])
  }
  expect(await enabled()).toEqual([])
  for (const [method, path] of [
    ['POST', `/${kept}/stop`],
    ['DELETE', `/${kept}`],
    ['POST', ''],
  ] as const) {
    const body = path === '' ? { name: late } : undefined
    const { status } = await call(at(`/workspaces${path}`), method, body)
    expect([method, status]).toEqual([method, 503])
  }
  expect(await stateOf(kept)).toBe('running')
  expect((await call(at('/workspaces'))).body.workspaces).toHaveLength(4)
  const session = await ssh.run(kept, 'true')
  expect(session).toMatchObject({ status: 255, stderr: expect.stringContaining('does not respond') })

  await docker('stop', '-t', '0', `ws-${stopped}`)
  await docker('rm', '-f', `ws-${removed}`)
  proxy.onRequest = () => 'pass'
  proxy.thaw()
  await waitFor('the engine', async () => (await enabled()).length === 1)
  await waitFor('the stopped one', async () => (await stateOf(stopped)) === 'stopped')
  await waitFor('the removed one', async () => (await stateOf(removed)) === 'error')
  await waitFor(
    'the partially created one to be removed',
    async () => (await stateOf(halfMade)) === undefined,
  )
  expect(await leftovers(halfMade)).toEqual([])
  expect(await stateOf(kept)).toBe('running')
  expect(await leftovers(kept)).toHaveLength(2)
  expect(await leftovers(removed)).toEqual([`volume ws-${removed}`])
  // On a busy machine the engine can be briefly unresponsive again while it catches up.
  await waitFor('a session', async () => (await ssh.run(kept, 'exit 3')).status === 3)
})

test('an engine that removes many files slowly is not an error', async () => {
  const { proxy, at, make } = await world()
  const name = await make('many')
  proxy.onRequest = (request) => (request.startsWith('DELETE /volumes/') ? { delayMs: 11_000 } : 'pass')
  const beganMs = performance.now()
  const { status } = await call(at(`/workspaces/${name}`), 'DELETE')
  expect(status).toBe(204)
  expect(performance.now() - beganMs).toBeGreaterThan(11_000)
  expect(await leftovers(name)).toEqual([])
})

test('F15 the server recovers from an engine that is down and comes back', async () => {
  const { proxy, at, stateOf, enabled, make } = await world()
  const [kept, removed] = [await make('kept'), await make('removed')]
  const git = await stuckGitServer()
  const halfMade = uniqueName('half')
  onTestFinished(() => removeLeftovers(halfMade))
  const creation = call(at('/workspaces'), 'POST', { name: halfMade, repo: git.repo })
  await waitFor('the clone', () => git.asked() > 0)

  await proxy.cut()
  const stop = await call(at(`/workspaces/${kept}/stop`), 'POST')
  expect([stop.status, stop.body.error.code]).toEqual([503, 'BACKEND_UNAVAILABLE'])
  expect((await creation).status).toBeGreaterThanOrEqual(500)
  await waitFor('the backend to be unavailable', async () => (await enabled()).length === 0)
  expect(await stateOf(kept)).toBe('running')

  await docker('rm', '-f', `ws-${removed}`)
  await proxy.open()
  await waitFor('the engine', async () => (await enabled()).length === 1)
  await waitFor('the removed one', async () => (await stateOf(removed)) === 'error')
  await waitFor(
    'the partially created one to be removed',
    async () => (await stateOf(halfMade)) === undefined,
  )
  expect(await leftovers(halfMade)).toEqual([])
  expect(await leftovers(kept)).toHaveLength(2)
  expect(await call(at(`/workspaces/${kept}/stop`), 'POST')).toMatchObject({ status: 200 })
})

test('F15 a clone does not wait for a hanging engine', async () => {
  const { proxy, at, stateOf } = await world()
  const git = await stuckGitServer()
  const name = uniqueName('cloning')
  onTestFinished(() => removeLeftovers(name))
  const creation = call(at('/workspaces'), 'POST', { name, repo: git.repo })
  await waitFor('the clone', () => git.asked() > 0)
  proxy.freeze()
  const { status, body } = await creation
  expect([status, body.error.code]).toEqual([503, 'BACKEND_UNAVAILABLE'])
  proxy.thaw()
  await waitFor('the partially created one to be removed', async () => (await stateOf(name)) === undefined)
  expect(await leftovers(name)).toEqual([])
})

test('a server that starts without its engine lists its workspaces when the engine is up', async () => {
  const stateDir = join(tempDir(), 'state')
  const proxy = await engineProxy()
  const first = await serve({ stateDir, engine: proxy.address })
  const name = uniqueName('later')
  onTestFinished(() => removeLeftovers(name))
  await makeWorkspace(first.url, { name })
  await first.end('SIGTERM')
  await proxy.cut()
  const second = await serve({ stateDir, engine: proxy.address })
  expect((await second.api('info')).body.enabled_backends).toEqual([])
  await proxy.open()
  await waitFor(
    'the workspace',
    async () => (await second.api(`workspaces/${name}`)).body.status === 'running',
  )
})
