import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { docker, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { engineProxy } from '../../support/engine/engine-proxy.ts'
import { heal, killAt, momentsOf } from '../../support/engine/kill-at.ts'
import { recovery } from '../../support/recovery.ts'
import { sample } from '../../support/rounds.ts'
import { serve } from '../../support/served.ts'
import { stuckGitServer } from '../../support/services/stuck-git-server.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace } from '../../support/workspace/server/test-server.ts'

const MOMENTS = momentsOf(['POST /volumes/create', 'POST /containers/create', 'POST /containers/ID/start'])

test('F1 a server killed at any step of a creation leaves nothing of it', async (context) => {
  const stateDir = join(tempDir(), 'state')
  const proxy = await engineProxy()
  const name = uniqueName('killed')
  onTestFinished(() => removeLeftovers(name))
  let server = await serve({ stateDir, engine: proxy.address })
  for (const moment of sample(MOMENTS, 2)) {
    const { child } = server
    killAt(proxy, moment, () => child.kill('SIGKILL'))
    await expect(makeWorkspace(server.url, { name })).rejects.toThrow('fetch failed')
    await server.end('SIGKILL')
    heal(proxy)
    const listed = await recovery(context, async () => {
      server = await serve({ stateDir, engine: proxy.address })
      return server.api('workspaces')
    })
    expect(listed.body, JSON.stringify(moment)).toEqual({ workspaces: [] })
    expect(await leftovers(name), JSON.stringify(moment)).toEqual([])
  }
  await makeWorkspace(server.url, { name })
  expect(await server.api(`workspaces/${name}`, 'DELETE')).toMatchObject({ status: 204 })
  expect(await leftovers(name)).toEqual([])
})

test('F1 a server killed between container and volume finishes the deletion', async () => {
  const stateDir = join(tempDir(), 'state')
  const proxy = await engineProxy()
  const name = uniqueName('deleted')
  onTestFinished(() => removeLeftovers(name))
  const server = await serve({ stateDir, engine: proxy.address })
  await makeWorkspace(server.url, { name })
  proxy.onRequest = (seen) => {
    if (!seen.startsWith('DELETE /volumes/')) return 'pass'
    server.child.kill('SIGKILL')
    return 'drop'
  }
  await expect(server.api(`workspaces/${name}`, 'DELETE')).rejects.toThrow('fetch failed')
  await server.end('SIGKILL')
  expect(await leftovers(name)).toHaveLength(1)
  heal(proxy)
  await serve({ stateDir, engine: proxy.address })
  expect(await leftovers(name)).toEqual([])
})

test('F1 a server killed during a clone leaves nothing of it', async () => {
  const stateDir = join(tempDir(), 'state')
  const git = await stuckGitServer()
  const name = uniqueName('cloning')
  onTestFinished(() => removeLeftovers(name))
  const first = await serve({ stateDir })
  const creation = makeWorkspace(first.url, { name, repo: git.repo })
  await Promise.all([
    expect(creation).rejects.toThrow('fetch failed'),
    waitFor('the clone', () => git.asked() > 0).then(() => first.end('SIGKILL')),
  ])
  const second = await serve({ stateDir })
  expect((await second.api(`workspaces/${name}`)).body.error.code).toBe('WORKSPACE_NOT_FOUND')
  expect(await leftovers(name)).toEqual([])
  await makeWorkspace(second.url, { name })
  expect(await second.api(`workspaces/${name}`, 'DELETE')).toMatchObject({ status: 204 })
})

test('F1 a volume that existed before is never lost', async () => {
  const stateDir = join(tempDir(), 'state')
  const proxy = await engineProxy()
  const name = uniqueName('adopted')
  onTestFinished(() => removeLeftovers(name))
  let server = await serve({ stateDir, engine: proxy.address })
  await makeWorkspace(server.url, { name })
  await docker('exec', `ws-${name}`, 'sh', '-c', 'echo precious > /workspace/file')
  await server.api(`workspaces/${name}?keep_volume=true`, 'DELETE')
  for (const moment of sample(
    MOMENTS.filter(({ when }) => when !== 'during'),
    2,
  )) {
    const { child } = server
    killAt(proxy, moment, () => child.kill('SIGKILL'))
    await expect(makeWorkspace(server.url, { name })).rejects.toThrow('fetch failed')
    await server.end('SIGKILL')
    heal(proxy)
    server = await serve({ stateDir, engine: proxy.address })
    expect(await leftovers(name), JSON.stringify(moment)).toEqual([`volume ws-${name}`])
  }
  await makeWorkspace(server.url, { name })
  expect(await docker('exec', `ws-${name}`, 'cat', '/workspace/file')).toBe('precious')
  await server.api(`workspaces/${name}`, 'DELETE')
  expect(await leftovers(name)).toEqual([])
})
