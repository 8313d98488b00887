import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerBackend, leftovers, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { describeOn } from '../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'
import { randomTree, SNAPSHOT_OF_TREE } from '../../support/workspace/archive/random-tree.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'fake', backend: () => new FakeBackend() },
] as const

describeOn(KINDS, 'an archive of a workspace', ({ backend: create, kind }) => {
  const backend = create()
  const [source, target] = [uniqueName('export'), uniqueName('import')]
  let server: TestServer
  const urlOf = (name: string, path = '') => `${server.url}/api/workspaces/${name}${path}`
  const run = async (name: string, command: string): Promise<string> => {
    const { body } = await call(urlOf(name, '/exec'), 'POST', { command, max_output_bytes: 1_000_000 })
    expect(body.exit_status, body.stderr).toBe(0)
    return body.stdout as string
  }
  const exported = () => fetch(urlOf(source, '/export'))
  const imported = (archive: RequestInit['body'], query: Record<string, string> = {}) =>
    fetch(`${server.url}/api/workspaces/import?${new URLSearchParams(query).toString()}`, {
      method: 'POST',
      body: archive ?? null,
      headers: { 'content-type': 'application/octet-stream' },
      ...({ duplex: 'half' } as object),
    })

  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterAll(async () => {
    for (const name of [source, target]) await call(urlOf(name), 'DELETE')
    await server.stop()
    if (kind === 'docker') for (const name of [source, target]) await removeLeftovers(name)
  })

  test('it restores every file of the directory and the home, and the settings', async () => {
    await makeWorkspace(server.url, { name: source })
    const settings = {
      labels: { team: 'web' },
      wake: false,
      idle: { stop_after: '2h' },
      checkpoints: { every: '1h', keep: 3 },
      schedule: { stop: '19:00', time_zone: 'UTC' },
    }
    await call(urlOf(source), 'PATCH', settings)
    const listing = async (name: string): Promise<string> => {
      const { home } = await backend.loginEnvironment(name)
      return run(name, `${SNAPSHOT_OF_TREE}; cd '${home}' && ${SNAPSHOT_OF_TREE}`)
    }
    const { home } = await backend.loginEnvironment(source)
    await run(source, randomTree('./tree', 1))
    await run(source, randomTree(`${home}/tree in home`, 2))
    const before = await listing(source)

    const response = await exported()
    expect(response.status).toBe(200)
    expect(response.headers.get('content-disposition')).toContain(`${source}.tar.gz`)
    const answer = await imported(response.body, { name: target })
    const workspace = (await answer.json()) as object
    expect(answer.status, JSON.stringify(workspace)).toBe(201)
    expect(workspace).toMatchObject({
      name: target,
      status: 'running',
      labels: { team: 'web' },
      wake: false,
      idle: { stop_after: 7200 },
      checkpoints: { every: 3600, keep: 3 },
      schedule: { stop: '0 19 * * *', time_zone: 'UTC' },
    })
    const after = await listing(target)
    expect(after).toBe(before)
    expect(before.split('\n').length).toBeGreaterThan(100)
    const blocks = Number(await run(target, "find ./tree -size +32M -printf '%b\\n' | sort -n | tail -1"))
    // Of 64 MiB each.
    expect(blocks).toBeLessThan(2_048)
  })

  test('a taken name is a conflict, also in another case, and changes nothing', async () => {
    const archive = Buffer.from(await (await exported()).arrayBuffer())
    for (const query of [{}, { name: target }, { name: target.toUpperCase() }] as Record<string, string>[]) {
      const answer = await imported(archive, query)
      expect(answer.status).toBe(409)
      expect(await answer.text()).toContain('another name')
    }
    expect((await call(urlOf(target))).body.status).toBe('running')
  })

  test('a file that cannot be read fails the export before it begins', async () => {
    if (kind === 'fake') return
    await run(source, 'touch locked && chmod 0 locked')
    const response = await exported()
    expect(response.status).toBe(403)
    expect(await response.text()).toMatch(/FILE_DENIED.*\/workspace\/locked/)
    await run(source, 'rm -f locked')
  })

  test('a workspace that is not running cannot be exported', async () => {
    await call(urlOf(source, '/stop'), 'POST')
    const response = await exported()
    expect(response.status).toBe(409)
    expect(await response.text()).toContain('WORKSPACE_NOT_RUNNING')
  })

  test('deleting the imported workspace leaves nothing', async () => {
    expect((await call(urlOf(target), 'DELETE')).status).toBe(204)
    if (kind === 'docker') expect(await leftovers(target)).toEqual([])
  })
})
