import { expect, onTestFinished, test } from 'vitest'
import { DockerEngine } from '../../../../src/workspace/backend/docker/engine/engine.ts'
import { exportRootfs } from '../../../../src/workspace/backend/docker/images/export-rootfs.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import {
  docker,
  dockerBackend,
  leftovers,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../../support/engine/docker.ts'
import { type EngineProxy, engineProxy } from '../../../support/engine/engine-proxy.ts'
import { waitFor } from '../../../support/wait-for.ts'

const SLOW_MS = 400

/** Delays requests beyond an abort, which happens meanwhile; resolves when the engine has answered one. */
function slowRequest(proxy: EngineProxy, pattern: RegExp, giveUp: AbortController): Promise<void> {
  proxy.onRequest = (request) => {
    if (!pattern.test(request)) return 'pass'
    setTimeout(() => giveUp.abort(new Error('given up')), SLOW_MS / 4)
    return { delayMs: SLOW_MS }
  }
  return new Promise((resolve) => {
    proxy.onAnswer = (request) => {
      if (pattern.test(request)) resolve()
      return 'pass'
    }
  })
}

/** The requests with which the engine creates parts of a workspace, delayed beyond the abort. */
test.each(['POST /volumes/create', 'POST /containers/create', String.raw`POST /containers/\w+/start`])(
  'a creation that is given up during %s leaves nothing once it is undone',
  async (pattern) => {
    const proxy = await engineProxy()
    const backend = dockerBackend({ host: proxy.address })
    await backend.open(() => undefined)
    onTestFinished(() => backend.close())
    const name = uniqueName('given-up')
    onTestFinished(() => removeLeftovers(name))
    const giveUp = new AbortController()
    const answered = slowRequest(proxy, new RegExp(`^${pattern}$`), giveUp)
    const request = backendCreate(name, TEST_IMAGE)
    await expect(backend.create(request, () => undefined, giveUp.signal)).rejects.toThrow('given up')
    await backend.remove(name, false)
    await answered
    await waitFor('nothing to be left', async () => (await leftovers(name)).length === 0)
  },
)

test('an export aborted while the engine creates its container leaves none', async () => {
  const proxy = await engineProxy()
  const engine = new DockerEngine(proxy.address)
  await engine.open(() => undefined)
  onTestFinished(() => engine.close())
  const exported = () => docker('ps', '-aq', '--filter', 'label=workspace.image-export')
  const before = await exported()
  const giveUp = new AbortController()
  const answered = slowRequest(proxy, /^POST \/containers\/create$/, giveUp)
  await expect(exportRootfs(engine, TEST_IMAGE, giveUp.signal)).rejects.toThrow('given up')
  await answered
  await waitFor('none to be left', async () => (await exported()) === before)
})
