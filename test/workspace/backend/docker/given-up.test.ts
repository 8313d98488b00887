import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { backendCreate } from '../../../support/backend-create.ts'
import { dockerBackend, leftovers, removeLeftovers, TEST_IMAGE, uniqueName } from '../../../support/docker.ts'
import { engineProxy } from '../../../support/engine-proxy.ts'

const SLOW_MS = 400

/** Everything that the engine makes for a workspace, and when it makes it later than it was asked. */
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
    proxy.onRequest = (request) => {
      if (!new RegExp(`^${pattern}$`).test(request)) return 'pass'
      setTimeout(() => giveUp.abort(new Error('given up')), SLOW_MS / 4)
      return { delayMs: SLOW_MS }
    }
    const request = backendCreate(name, TEST_IMAGE)
    await expect(backend.create(request, () => undefined, giveUp.signal)).rejects.toThrow('given up')
    await backend.remove(name, false)
    // Until the engine would have made it.
    await delay(2 * SLOW_MS)
    expect(await leftovers(name)).toEqual([])
  },
)
