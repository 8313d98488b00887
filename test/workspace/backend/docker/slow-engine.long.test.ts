import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { DockerEngine } from '../../../../src/workspace/backend/docker/engine/engine.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import { dockerBackend, removeLeftovers, TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { engineProxy, type EngineProxy } from '../../../support/engine/engine-proxy.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** The engine's timeouts divided by twenty: 20 s of delay are one second here. */
const timing = {
  pingEveryMs: 40,
  lookEveryMs: 10,
  silenceMs: 120,
  patienceMs: 3_000,
  readDeadlineMs: 500,
}

async function openEngine(proxy: EngineProxy): Promise<DockerEngine> {
  const engine = new DockerEngine(proxy.address, timing)
  await engine.open(() => undefined)
  onTestFinished(() => engine.close())
  return engine
}

test.each([50, 300, 1_000])(
  'an engine that answers everything %d ms late is waited for from the first request on',
  async (delayMs) => {
    const proxy = await engineProxy()
    proxy.onRequest = () => ({ delayMs })
    const engine = await openEngine(proxy)
    expect(engine.isAvailable).toBe(true)
    const version = await engine.call('asking for the version', () => engine.docker.version())
    expect(version.Version).toBeTruthy()
  },
)

test('a workspace is created on a slow engine', async () => {
  const proxy = await engineProxy()
  proxy.onRequest = () => ({ delayMs: 200 })
  const backend = dockerBackend({ host: proxy.address, timing })
  await backend.open(() => undefined)
  onTestFinished(() => backend.close())
  const name = uniqueName('slow')
  onTestFinished(() => removeLeftovers(name))
  const request = backendCreate(name, TEST_IMAGE)
  const workspace = await backend.create(request, () => undefined, new AbortController().signal)
  expect(workspace.state.is).toBe('running')
})

test('a pending call survives an engine that becomes slow', async () => {
  const proxy = await engineProxy()
  const engine = await openEngine(proxy)
  proxy.onRequest = () => ({ delayMs: 1_000 })
  const version = await engine.call('asking for the version', () => engine.docker.version())
  expect(version.Version).toBeTruthy()
})

test('an engine that stops accepting is away, and the reason is reported', async () => {
  const proxy = await engineProxy()
  await proxy.prepareFreeze()
  const engine = await openEngine(proxy)
  proxy.freeze()
  const call = engine.call('asking for the version', (abortSignal) =>
    engine.docker.listContainers({ abortSignal }),
  )
  await expect(call).rejects.toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    retryAfterS: 5,
    message: expect.stringContaining('it does not accept connections'),
  })
  expect(engine.isAvailable).toBe(false)
  proxy.thaw()
  await waitFor('the engine', () => engine.isAvailable)
})

test('an engine that accepts and never answers is eventually away', async () => {
  const proxy = await engineProxy()
  const engine = await openEngine(proxy)
  proxy.onRequest = () => ({ delayMs: 30_000 })
  const call = engine.call(
    'asking for the version',
    (abortSignal) => engine.docker.listContainers({ abortSignal }),
    {
      deadlineMs: 0,
    },
  )
  await expect(call).rejects.toThrow('it has been silent for 3 s')
})

test.each([
  ['while nothing is asked', false],
  ['before it reads an answer', true],
])('an engine is not away because this process was blocked %s', async (_when, isAsking) => {
  // The real engine, which can be silent for longer than the other tests' 120 ms.
  const engine = new DockerEngine(process.env['DOCKER_HOST'], {
    pingEveryMs: 800,
    lookEveryMs: 50,
    silenceMs: 2_400,
    patienceMs: 3_000,
    readDeadlineMs: 3_000,
  })
  const changes: boolean[] = []
  await engine.open((isAvailable) => changes.push(isAvailable))
  onTestFinished(() => engine.close())
  const ask = () => engine.call('asking for the version', () => engine.docker.version())
  for (let round = 0; round < 3; round += 1) {
    await ask()
    const asked = isAsking ? ask() : undefined
    await setImmediate()
    // Longer than its patience and the deadline of the call.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)
    await asked
  }
  await ask()
  expect(changes).toEqual([])
})

test('a missing engine is away immediately', async () => {
  const proxy = await engineProxy()
  await proxy.cut()
  const engine = await openEngine(proxy)
  await expect(engine.call('asking', () => engine.docker.version())).rejects.toThrow(
    /the connection is refused/,
  )
})

test('a single hanging request is aborted while others are answered', async () => {
  const proxy = await engineProxy()
  proxy.onRequest = (request) => (request.endsWith('/_ping') ? 'pass' : { delayMs: 30_000 })
  const engine = await openEngine(proxy)
  const call = engine.call('asking', (abortSignal) => engine.docker.listContainers({ abortSignal }))
  await expect(call).rejects.toThrow('did not answer this request in time')
  expect(engine.isAvailable).toBe(true)
})
