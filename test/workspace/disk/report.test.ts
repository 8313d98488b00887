import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { duPhysicalBytes } from '../../support/files/du.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { MachineDisk } from '../../support/workspace/disk/machine-disk.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { fault } from '../../../src/workspace/errors.ts'

test('df counts images, workspaces, snapshots and orphans separately and in total', async () => {
  const disk = new MachineDisk()
  disk.machine('demo')
  disk.machine('kept', { isKept: true })
  disk.console('demo', 'x'.repeat(5000))
  await disk.image('one', 'base')
  disk.upper('stray')
  for (const name of ['whole', 'half']) mkdirSync(disk.at('snapshots', name))
  writeFileSync(disk.at('snapshots/whole/snapshot.json'), '{}')
  mkdirSync(disk.at('images/blobs/sha256/0123.tmp'))
  const server = await disk.serve()
  // Trash that exists at startup is removed then.
  await server.api('system/df')
  mkdirSync(disk.at('uppers/.trash-01'))
  const askedMs = Date.now()
  const { status, body } = await server.api('system/df')
  expect(status).toBe(200)
  expect(body).toMatchObject({ server_name: 'test-server', backend: 'qemu', notes: [] })
  expect(Date.parse(body.generated_at)).toBeGreaterThanOrEqual(askedMs)
  expect(body.images).toMatchObject([{ name: 'base', backend: 'qemu' }])
  const [{ path, size }] = body.images
  expect(size.physical_bytes).toBe(duPhysicalBytes(path))

  expect(body.workspaces.map((each: any) => [each.name, each.status])).toEqual([
    ['demo', 'stopped'],
    ['kept', 'kept'],
  ])
  const [demo] = body.workspaces
  expect(demo).toMatchObject({
    rootfs: { path: disk.at('uppers/demo/upper.ext4'), kind: 'rootfs', size: { logical_bytes: 2 ** 24 } },
    console_log: { path: disk.at('instances/demo/console.log'), size: { logical_bytes: 5000 } },
    other_files: [{ kind: 'metadata' }],
  })
  expect(demo.rootfs.size.physical_bytes).toBe(8192)
  expect(demo.total.physical_bytes).toBe(8192 + 8192 + 4096)

  expect(body.snapshots).toMatchObject([{ name: 'whole' }])
  expect(body.orphans.map((each: any) => each.kind).toSorted()).toEqual([
    'lock',
    'snapshot',
    'tmp',
    'trash',
    'upper',
  ])
  expect(body.orphans).toContainEqual(
    expect.objectContaining({
      path: disk.at('uppers/stray'),
      kind: 'upper',
      size: expect.objectContaining({ logical_bytes: 2 ** 24 }),
    }),
  )
  const { images, workspaces, snapshots, orphans, all, shared_bytes: shared } = body.totals
  expect(all.physical_bytes).toBe(
    [images, workspaces, snapshots, orphans].reduce((sum: number, each: any) => sum + each.physical_bytes, 0),
  )
  expect(shared).toBe(0)
})

test('df counts a file shared by two images in both, and reports it as shared', async () => {
  const disk = new MachineDisk()
  const images = await disk.images()
  const [one, two] = [await disk.image('one', 'one'), await disk.image('two', 'two')]
  const big = join(images.directoryOf(one), 'modules')
  writeFileSync(big, Buffer.alloc(100_000))
  linkSync(big, join(images.directoryOf(two), 'modules'))
  const { body } = await (await disk.serve()).api('system/df')
  expect(body.totals.shared_bytes).toBe(duPhysicalBytes(big))
})

test('F8 df reports a workspace with unreadable metadata and counts it', async () => {
  const disk = new MachineDisk()
  disk.machine('broken')
  disk.metadata('broken', '')
  const { body } = await (await disk.serve()).api('system/df')
  expect(body.workspaces).toMatchObject([
    { name: 'broken', status: 'error', rootfs: { size: { physical_bytes: 8192 } } },
  ])
  expect(body.notes.join()).toMatch(/broken.*metadata\.json/)
})

test('df reports an unavailable engine and counts the rest, or fails if there is no rest', async () => {
  const backend = new FakeBackend()
  backend.usage = () => Promise.reject(fault('BACKEND_UNAVAILABLE', 'the engine does not answer'))
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  expectError(await server.api('system/df'), 503, 'BACKEND_UNAVAILABLE')

  const rest = Object.assign(new FakeBackend(), { name: 'kubernetes' })
  const other = await startWorkspaceServer({ backends: () => [backend, rest] })
  onTestFinished(() => other.stop())
  const { status, body } = await other.api('system/df')
  expect([status, body.notes]).toEqual([200, ['docker: not measured (the engine does not answer)']])
})

test('df with cached returns the last report and refreshes a stale one in the background', async () => {
  let now = Date.now()
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({
    backends: () => [backend],
    clock: { ...systemClock, wallMs: () => now },
  })
  onTestFinished(() => server.stop())
  const cached = async () => (await server.api('system/df?cached=true')).body
  const first = await cached()
  await makeWorkspace(server.url, { name: 'demo' })
  now += 29_000
  expect(await cached()).toEqual(first)
  now += 2_000
  expect(await cached()).toEqual(first)
  await waitFor('a new report', async () => (await cached()).workspaces.length === 1)
  expect((await server.api('system/df?cached=yes')).status).toBe(400)
})
