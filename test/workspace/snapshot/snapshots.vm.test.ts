import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSsh, type OpenSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { machineRoots, vmServer } from '../../support/vm/vm-server.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { makeWorkspace, type TestServer } from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
let server: TestServer
let ssh: OpenSsh

const inside = async (name: string, command: string) =>
  (await ssh.run(name, command, { stdin: '' })).stdout.toString()
const post = (path: string, body?: object) => server.api(path, 'POST', body)

beforeAll(async () => {
  server = await vmServer(roots)
  ssh = await openSsh(server)
  await makeWorkspace(server.url, { name: 'source' })
  await inside('source', 'echo kept > /workspace/file')
})
afterAll(async () => {
  for (const name of ['source', 'one', 'two'])
    await server.api(`workspaces/${name}`, 'DELETE').catch(() => undefined)
  ssh.remove()
  await server.stop()
  roots.remove()
})

test('a snapshot of a running machine is refused', async () => {
  expectError(
    await post('snapshots', { name: 'ready', source_workspace: 'source' }),
    409,
    'SNAPSHOT_SOURCE_RUNNING',
  )
  expect(await post('snapshots', { name: '../x', source_workspace: 'source' })).toMatchObject({ status: 400 })
  expect(await post('snapshots', { name: 'ready', source_workspace: 'nobody' })).toMatchObject({
    status: 404,
  })
})

test('a snapshot of a stopped machine is small, is listed and reserves its name', async () => {
  await post('workspaces/source/stop')
  const taken = await post('snapshots', { name: 'ready', source_workspace: 'source', comment: 'a note' })
  expect(taken).toMatchObject({ status: 201, body: { warnings: [] } })
  expect(taken.body.snapshot).toMatchObject({
    version: 1,
    name: 'ready',
    backend: 'qemu',
    source_workspace: 'source',
    lower_cached: true,
    comment: 'a note',
  })
  const { size, blocks } = statSync(join(roots.root, 'snapshots/ready/upper.ext4'))
  expect(size).toBe(5 * 2 ** 30)
  expect(blocks * 512).toBeLessThan(64 * 2 ** 20)
  expect((await server.api('snapshots')).body.snapshots).toEqual([taken.body.snapshot])
  expect((await server.api('snapshots/Ready')).body.snapshot).toEqual(taken.body.snapshot)
  expectError(
    await post('snapshots', { name: 'READY', source_workspace: 'source' }),
    409,
    'SNAPSHOT_ALREADY_EXISTS',
  )
})

test('a request with fields that exclude a snapshot is refused', async () => {
  for (const more of [
    { image: 'base' },
    { repo: 'a/b' },
    { upper_size_bytes: 2 ** 31 },
    { backend: 'docker' },
  ])
    expectError(
      await post('workspaces', { name: 'one', from_snapshot: 'ready', ...more }),
      400,
      'INVALID_REQUEST',
    )
  expectError(await post('workspaces', { name: 'one', from_snapshot: 'nothing' }), 404, 'SNAPSHOT_NOT_FOUND')
})

test('two workspaces created from it have its files, separate disks and separate identities', async () => {
  for (const name of ['one', 'two']) await makeWorkspace(server.url, { name, from_snapshot: 'ready' })
  expect(await inside('one', 'cat /workspace/file; hostname')).toBe('kept\none\n')
  await inside('one', 'echo changed > /workspace/file')
  expect(await inside('two', 'cat /workspace/file; hostname')).toBe('kept\ntwo\n')
  const ids = [await inside('one', 'cat /etc/machine-id'), await inside('two', 'cat /etc/machine-id')]
  expect(ids[0]).toMatch(/^[0-9a-f]{32}\n$/)
  expect(ids[1]).not.toBe(ids[0])
})

test('deleting a snapshot does not affect workspaces created from it', async () => {
  expect(await server.api('snapshots/ready', 'DELETE')).toMatchObject({ status: 204 })
  expectError(await server.api('snapshots/ready'), 404, 'SNAPSHOT_NOT_FOUND')
  expect(await inside('one', 'cat /workspace/file')).toBe('changed\n')
})
