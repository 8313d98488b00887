import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { docker, leftovers, removeLeftovers, uniqueName } from '../../../support/engine/docker.ts'
import { engineProxy } from '../../../support/engine/engine-proxy.ts'
import { heal, killAt, momentsOf } from '../../../support/engine/kill-at.ts'
import { recovery } from '../../../support/recovery.ts'
import { serve } from '../../../support/served.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { call, makeWorkspace } from '../../../support/workspace/workspace-server.ts'

const MOMENTS = momentsOf([
  'POST /volumes/create',
  'POST /containers/ID/pause',
  'POST /commit',
  'POST /containers/create',
  'POST /containers/ID/start',
  'POST /containers/ID/wait',
  'POST /containers/ID/unpause',
])

/** Engine objects of forks, of any server. */
async function remains(): Promise<readonly string[]> {
  const lists = await Promise.all([
    docker('image', 'ls', 'ws-fork', '--format', 'image {{.Tag}}'),
    docker('volume', 'ls', '--filter', 'name=ws-fork_', '--format', 'volume {{.Name}}'),
    docker('ps', '-a', '--filter', 'label=workspace.helper=fork', '--format', 'helper {{.Names}}'),
  ])
  return lists.flatMap((list) => list.split('\n')).filter((line) => line !== '')
}

test(
  'F1 a server killed at any step of a fork leaves nothing of it, and its source runs',
  { timeout: 240_000 },
  async (context) => {
    const stateDir = join(tempDir(), 'state')
    const proxy = await engineProxy()
    const source = uniqueName('source')
    const forks = [`${source}-fork-1`, `${source}-fork-2`]
    for (const name of [source, ...forks]) onTestFinished(() => removeLeftovers(name))
    let server = await serve({ stateDir, engine: proxy.address })
    await makeWorkspace(server.url, { name: source })
    const before = await remains()
    const left = async () => (await remains()).filter((line) => !before.includes(line))
    const urlOf = (path = '') => `${server.url}/api/workspaces${path}`
    for (const moment of MOMENTS) {
      const { child } = server
      killAt(proxy, moment, () => child.kill('SIGKILL'))
      const label = JSON.stringify(moment)
      await expect(call(urlOf(`/${source}/fork`), 'POST', { count: 2 }), label).rejects.toThrow(
        'fetch failed',
      )
      await server.end('SIGKILL')
      heal(proxy)
      await recovery(context, async () => {
        server = await serve({ stateDir, engine: proxy.address })
      })
      const states = async () =>
        (await call(urlOf())).body.workspaces.map(({ name, status }: Record<string, unknown>) => [
          name,
          status,
        ])
      // It may have been left paused.
      await expect.poll(states, { message: label, timeout: 30_000 }).toEqual([[source, 'running']])
      for (const name of forks) expect(await leftovers(name), label).toEqual([])
    }
    const { status, body } = await call(urlOf(`/${source}/fork`), 'POST', { count: 2 })
    expect([status, body.error?.message]).toEqual([201, undefined])
    for (const name of [source, ...forks]) await call(urlOf(`/${name}`), 'DELETE')
    // The engine may have completed the last request of a killed server after the next one had started.
    await server.end('SIGTERM')
    server = await serve({ stateDir, engine: proxy.address })
    await expect.poll(left, { timeout: 30_000 }).toEqual([])
  },
)
