import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { docker, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { type EngineProxy, engineProxy } from '../../support/engine/engine-proxy.ts'
import { heal, killAt, momentsOf } from '../../support/engine/kill-at.ts'
import { recovery } from '../../support/recovery.ts'
import { sample } from '../../support/rounds.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { call, makeWorkspace } from '../../support/workspace/server/test-server.ts'

const MOMENTS = momentsOf([
  'POST /volumes/create',
  'POST /containers/ID/pause',
  'POST /commit',
  'POST /containers/create',
  'POST /containers/ID/start',
  'POST /containers/ID/wait',
  'POST /containers/ID/unpause',
])

/** Engine objects of the copies of a server. */
async function remains(stateDir: string): Promise<readonly string[]> {
  const id = readFileSync(join(stateDir, 'server-id'), 'utf8').trim()
  const copies = ['--filter', `label=workspace.fork_server=${id}`]
  const own = ['--filter', `label=workspace.server_id=${id}`]
  const lists = await Promise.all([
    docker('image', 'ls', ...copies, '--format', 'image {{.Repository}}:{{.Tag}}'),
    docker('volume', 'ls', ...copies, '--format', 'volume {{.Name}}'),
    docker('ps', '-a', ...copies, '--format', 'helper {{.Names}}'),
    docker('ps', '-a', ...own, '--filter', 'name=_rewound', '--format', 'next {{.Names}}'),
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
    const urlOf = (path = '') => `${server.url}/api/workspaces${path}`
    for (const moment of sample(MOMENTS, 6)) {
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
      await expect.poll(states, { message: label }).toEqual([[source, 'running']])
      for (const name of forks) expect(await leftovers(name), label).toEqual([])
    }
    const { status, body } = await call(urlOf(`/${source}/fork`), 'POST', { count: 2 })
    expect([status, body.error?.message]).toEqual([201, undefined])
    for (const name of [source, ...forks]) await call(urlOf(`/${name}`), 'DELETE')
    // The engine may have completed the last request of a killed server after the next one had started.
    await server.end('SIGTERM')
    server = await serve({ stateDir, engine: proxy.address })
    await expect.poll(() => remains(stateDir)).toEqual([])
  },
)

const isChange = (request: string): boolean => !request.startsWith('GET ') && !request.includes('/exec')

/** Calls `act` at the change of this number, before the engine has it or after it is done. */
function atChange(proxy: EngineProxy, number: number, when: 'before' | 'after', act: () => void): void {
  let [seen, answered] = [0, 0]
  proxy.onRequest = (request) => {
    if (!isChange(request)) return 'pass'
    seen += 1
    if (when === 'after' || seen !== number) return 'pass'
    act()
    return 'drop'
  }
  proxy.onAnswer = (request) => {
    if (!isChange(request)) return 'pass'
    answered += 1
    if (when === 'before' || answered !== number) return 'pass'
    act()
    return 'drop'
  }
}

test(
  'F1 a server killed at any step of a rewind leaves the workspace with its old or its new files',
  { timeout: 600_000 },
  async (context) => {
    const stateDir = join(tempDir(), 'state')
    const proxy = await engineProxy()
    const name = uniqueName('rewound')
    onTestFinished(() => removeLeftovers(name))
    let server = await serve({ stateDir, engine: proxy.address })
    await makeWorkspace(server.url, { name })
    const post = (path: string, body: object = {}) => server.api(`workspaces/${name}${path}`, 'POST', body)
    const write = (text: string) =>
      post('/exec', { command: `echo ${text} >/workspace/file; echo ${text} >$HOME/file` })
    const files = async () => (await post('/exec', { command: 'cat /workspace/file $HOME/file' })).body.stdout
    const list = async () => (await server.api(`workspaces/${name}/checkpoints`)).body.checkpoints
    await write('first')
    const { id } = (await post('/checkpoints')).body
    expect(await remains(stateDir)).toContain(`image ws-checkpoint:${id}`)
    // Counts the changes of a whole rewind.
    const changes: string[] = []
    proxy.onRequest = (request) => {
      if (isChange(request)) changes.push(request.replace(/\?.*/, ''))
      return 'pass'
    }
    await write('second')
    expect((await post('/rewind', { to: id })).body.workspace.status).toBe('running')
    expect(await files()).toBe('first\nfirst\n')
    expect(changes.length).toBeGreaterThan(10)
    const seen = new Set<string>()
    const moments = changes.flatMap((change, i) =>
      (['before', 'after'] as const).map((when) => ({
        number: i + 1,
        when,
        label: `${when} ${i + 1} ${change}`,
      })),
    )
    for (const { number, when, label } of sample(moments, 6)) {
      await write('second')
      const { child } = server
      atChange(proxy, number, when, () => child.kill('SIGKILL'))
      // After one that was interrupted, a rewind may have fewer changes; the kill is then after its answer.
      const answer = await post('/rewind', { to: id }).catch(() => undefined)
      if (answer === undefined) await expect.poll(() => child.signalCode, { message: label }).toBe('SIGKILL')
      await server.end('SIGKILL')
      heal(proxy)
      await recovery(context, async () => {
        server = await serve({ stateDir, engine: proxy.address })
      })
      const start = async () => {
        const { status, body } = await post('/start')
        return status === 200 || body.error?.code === 'WORKSPACE_ALREADY_RUNNING'
      }
      await expect.poll(start, { message: label }).toBe(true)
      const found = await files()
      expect(['first\nfirst\n', 'second\nsecond\n'], label).toContain(found)
      seen.add(found)
      for (const each of await list())
        if (each.id !== id) await server.api(`workspaces/${name}/checkpoints/${each.id}`, 'DELETE')
      expect(
        (await list()).map((each: { id: string }) => each.id),
        label,
      ).toEqual([id])
    }
    expect(seen.size).toBe(2)
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.end('SIGTERM')
    server = await serve({ stateDir, engine: proxy.address })
    await expect.poll(() => remains(stateDir)).toEqual([])
    expect(await leftovers(name)).toEqual([])
  },
)
