import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PulledImages } from '../../../../src/workspace/backend/docker/images/pulled-images.ts'
import { TEST_IMAGE, uniqueName } from '../../../support/engine/docker.ts'
import { names, prune, reasonOf } from '../../../support/workspace/disk/prune.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { makeWorkspace, startWorkspaceServer } from '../../../support/workspace/server/test-server.ts'

const docker = (...argv: readonly string[]): string =>
  execFileSync('docker', argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** A server on the machine's own engine. */
async function dockerServer(stateDir = tempDir()) {
  const server = await startWorkspaceServer({
    stateDir,
    settings: { default_image: TEST_IMAGE, docker: { network: 'host' }, ssh: { processes: 0 } },
  })
  onTestFinished(() => server.stop())
  return server
}

test('a container stopped long ago is pruned with its volume, a running one and a kept volume stay', async () => {
  const server = await dockerServer()
  const suffix = Math.random().toString(36).slice(2, 8)
  const [stopped, running, kept] = [`stopped-${suffix}`, `running-${suffix}`, `kept-${suffix}`]
  onTestFinished(() => {
    for (const name of [stopped, running, kept]) {
      for (const argv of [
        ['rm', '-fv', `ws-${name}`],
        ['volume', 'rm', '-f', `ws-${name}`],
      ])
        try {
          docker(...argv)
        } catch {
          // It no longer exists.
        }
    }
  })
  for (const name of [stopped, running, kept]) await makeWorkspace(server.url, { name })
  await server.api(`workspaces/${stopped}/stop`, 'POST')
  await server.api(`workspaces/${kept}?keep_volume=true`, 'DELETE')

  const { body: usage } = await server.api('system/df')
  expect(usage.workspaces.map((each: any) => [each.name, each.status]).toSorted()).toEqual([
    [kept, 'kept'],
    [running, 'running'],
    [stopped, 'stopped'],
  ])
  // Its reference can be another one: an image may have several.
  const id = docker('image', 'inspect', '--format', '{{.Id}}', TEST_IMAGE)
  expect(usage.images).toContainEqual(expect.objectContaining({ path: id, backend: 'docker' }))
  expect(usage.totals.workspaces.physical_bytes).toBeGreaterThan(0)

  const young = await prune(server, 'scope=instances')
  expect([young.items, reasonOf(young, stopped), reasonOf(young, running)]).toEqual([
    [],
    expect.stringMatching(/^too recent \(\d+s < 72h\)$/),
    'cannot prune running workspace',
  ])
  const body = await prune(server, 'scope=instances&until=0s')
  expect(body.items).toMatchObject([
    { kind: 'instance', name: stopped, backend: 'docker', action: 'deleted' },
  ])
  expect(docker('volume', 'ls', '-q')).not.toContain(`ws-${stopped}`)
  expect(docker('volume', 'ls', '-q')).toContain(`ws-${kept}`)
  expect(docker('ps', '-q', '--filter', `name=ws-${running}`)).not.toBe('')
})

test(
  'only the engine’s images that this server pulled and nothing needs are deleted',
  { tags: ['long'] },
  async () => {
    const stateDir = tempDir()
    const repo = uniqueName('prune')
    const build = (label: string): string =>
      execFileSync('docker', ['build', '-q', '-t', `${repo}:${label}`, '-'], {
        input: `FROM ${TEST_IMAGE}\nLABEL prune-test=${repo}-${label}\n`,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'ignore'],
      }).trim()
    const ids = new Map(['ours', 'others', 'used'].map((label) => [label, build(label)]))
    const container = docker('create', `${repo}:used`, 'true')
    onTestFinished(() => {
      docker('rm', container)
      for (const label of ids.keys())
        try {
          docker('rmi', `${repo}:${label}`)
        } catch {
          // It no longer exists.
        }
    })
    const pulled = new PulledImages(join(stateDir, 'docker-images.json'))
    for (const label of ['ours', 'used']) await pulled.add(ids.get(label) ?? '', undefined)
    // An image that existed before this server pulled it belongs to someone else.
    await pulled.add(ids.get('others') ?? '', ids.get('others'))
    const server = await dockerServer(stateDir)
    const body = await prune(server, 'scope=images')
    expect(names(body.items)).toEqual([`${repo}:ours`])
    expect(reasonOf(body, `${repo}:used`)).toBe('used by a container')
    const left = docker('images', '--format', '{{.Repository}}:{{.Tag}}')
    expect([left.includes(`${repo}:ours`), left.includes(`${repo}:others`)]).toEqual([false, true])
    expect(await pulled.list()).toEqual(new Set([ids.get('used')]))

    writeFileSync(join(stateDir, 'docker-images.json'), '')
    const unknown = await prune(server, 'scope=images')
    expect([unknown.items, unknown.notes.join()]).toEqual([
      [],
      expect.stringMatching(/docker-images\.json cannot be read/),
    ])
    rmSync(join(stateDir, 'docker-images.json'))
  },
)
