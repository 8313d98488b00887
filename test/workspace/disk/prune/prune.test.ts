import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fingerprint, HOUR_MS, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { names, OLD, prune, reasonOf } from '../../../support/workspace/disk/prune.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

test('a dry run reports what would be deleted and what is kept, and deletes nothing', async () => {
  const disk = new MachineDisk()
  disk.machine('old', OLD)
  disk.machine('young', { ageMs: 3 * HOUR_MS })
  disk.machine('kept', { isKept: true, ...OLD })
  disk.upper('stray')
  await disk.image('one', 'base')
  await disk.image('two', 'unused')
  const server = await disk.serve()
  const before = fingerprint(disk.root)
  const body = await prune(server, 'dry_run=true')
  expect(body).toMatchObject({
    dry_run: true,
    server_name: 'test-server',
    scope: ['images', 'instances', 'orphans'],
    until: '72h0m0s',
    plan_id: expect.stringMatching(/^[0-9a-f]{24}$/) as unknown,
    totals: { items: 3 },
  })
  expect(body.items).toMatchObject([
    { kind: 'image', name: 'unused', action: 'would_delete', reason: 'not in use' },
    { kind: 'instance', name: 'old', action: 'would_delete', reason: 'stopped for 4d' },
    { kind: 'upper', name: 'stray', action: 'would_delete', reason: 'has no metadata.json' },
  ])
  expect(body.items[1].freed.physical_bytes).toBe(8192 + 4096)
  expect(reasonOf(body, 'young')).toBe('too recent (3h < 72h)')
  expect(reasonOf(body, 'base')).toBe('named by the configuration')
  expect(reasonOf(body, 'kept')).toMatch(/kept for the next workspace/)
  expect(reasonOf(body, 'names.lock')).toBe('lock file retained')
  expect(fingerprint(disk.root)).toBe(before)
})

test('prune deletes what the dry run reported, and keeps the rest unchanged', async () => {
  const disk = new MachineDisk()
  disk.machine('old', OLD)
  disk.machine('young', { ageMs: 3 * HOUR_MS, id: '0000aaaa' })
  disk.upper('stray')
  mkdirSync(disk.at('snapshots/half'))
  for (const checkpoint of ['0000aaaa-0123456789abcdef', '0000bbbb-0123456789abcdef'])
    disk.snapshot(checkpoint, undefined, 'checkpoints')
  disk.snapshot('whole')
  mkdirSync(disk.at('images/blobs/sha256/01.tmp/tree'), { recursive: true })
  const digest = await disk.image('two', 'unused')
  const server = await disk.serve()
  const young = fingerprint(disk.at('instances/young'))
  const body = await prune(server)
  expect(body.items.map(({ kind, action }: any) => [kind, action])).toEqual(
    ['image', 'instance', 'tmp', 'snapshot', 'checkpoint', 'upper'].map((kind) => [kind, 'deleted']),
  )
  expect((await server.api('workspaces/old')).status).toBe(404)
  for (const gone of [
    'instances/old',
    'uppers/old',
    'uppers/stray',
    'snapshots/half',
    'checkpoints/0000bbbb-0123456789abcdef',
    'images/blobs/sha256/01.tmp',
  ])
    expect(disk.has(gone), gone).toBe(false)
  expect(disk.has('images/blobs/sha256', digest.slice(7))).toBe(false)
  expect(disk.has('images/tags/unused.json')).toBe(false)
  expect(disk.has('snapshots/whole/snapshot.json')).toBe(true)
  expect(disk.has('checkpoints/0000aaaa-0123456789abcdef')).toBe(true)
  expect(disk.has('uppers/young/upper.ext4')).toBe(true)
  expect(fingerprint(disk.at('instances/young'))).toBe(young)
  expect((await prune(server)).items).toEqual([])
})

test.each([
  ['scope=everything', 'scope'],
  ['scope=images&scope=', 'scope'],
  ['until=yesterday', 'until'],
  ['until=-1h', 'until'],
  ['log_tail_bytes=5MiB', 'log_tail_bytes'],
  ['log_tail_bytes=-1', 'log_tail_bytes'],
  ['keep_free=120%25', 'keep_free'],
  ['dry_run=TRUE', 'dry_run'],
  ['dry_run=1', 'dry_run'],
  ['plan_id=0123', 'plan_id'],
  ['plan_id=0123&dry_run=true', 'plan_id'],
])('W9 prune with %s is refused before anything is changed', async (query, named) => {
  const disk = new MachineDisk()
  disk.machine('old', OLD)
  const server = await disk.serve()
  const { status, body } = await server.api(`system/prune?${query}`, 'POST')
  expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  expect(body.error.message).toContain(named)
  expect(disk.has('uppers/old/upper.ext4')).toBe(true)
})

test('until 0s accepts any age, but never a running workspace or one in error', async () => {
  const disk = new MachineDisk()
  disk.machine('young')
  disk.machine('broken', { failure: 'it does not boot', ...OLD })
  const server = await disk.serve()
  const body = await prune(server, 'until=0s&scope=instances')
  expect(names(body.items)).toEqual(['young'])
  expect(reasonOf(body, 'broken')).toMatch(/state error: it does not boot/)
})

test('a workspace whose directory contains foreign files fails, and the rest is deleted', async () => {
  const disk = new MachineDisk()
  disk.machine('old', OLD)
  writeFileSync(disk.at('uppers/old/precious'), 'x')
  disk.upper('stray')
  const body = await prune(await disk.serve())
  expect(body.items.map(({ name, action }: any) => [name, action])).toEqual([
    ['old', 'failed'],
    ['stray', 'deleted'],
  ])
  expect(body.items[0].error).toMatch(/the server did not create/)
  expect(disk.has('uppers/old/precious')).toBe(true)
})

test('P9 remains of a deletion are counted, and removed by the next start', async () => {
  const disk = new MachineDisk()
  const server = await disk.serve()
  await server.api('system/df')
  for (const place of ['uppers', 'instances', 'images/blobs/sha256', 'snapshots', '.']) {
    mkdirSync(disk.at(place, '.trash-0123/inner'), { recursive: true })
    writeFileSync(disk.at(place, '.trash-0123/inner/file'), 'x')
  }
  const { body } = await server.api('system/df')
  expect(body.orphans.filter((each: any) => each.kind === 'trash')).toHaveLength(5)
  const again = await server.restart()
  onTestFinished(() => again.stop())
  for (const place of ['uppers', 'instances', 'images/blobs/sha256', 'snapshots', '.'])
    await waitFor(`the end of what was left in ${place}`, () => !disk.has(place, '.trash-0123'))
})

test('keep_free deletes the oldest first, and nothing when enough space is free', async () => {
  const disk = new MachineDisk()
  disk.machine('older', { ageMs: 200 * HOUR_MS })
  disk.machine('old', OLD)
  const server = await disk.serve()
  const none = await prune(server, 'dry_run=true&keep_free=1KiB')
  expect(none.items).toEqual([])
  expect(reasonOf(none, 'old')).toBe('enough space is free without it (1024 bytes)')
  const all = await prune(server, 'dry_run=true&keep_free=999TiB')
  expect(all.items.map(({ name }: any) => name)).toEqual(['older', 'old'])
  expect((await prune(server, 'keep_free=1KiB')).items).toEqual([])
  expect(disk.has('uppers/older')).toBe(true)
})

test('the server prunes on schedule and logs it', async () => {
  const disk = new MachineDisk()
  disk.upper('stray')
  disk.machine('old', OLD)
  const file = join(tempDir(), 'audit.jsonl')
  await disk.serve({ prune: { every: '50ms' }, audit: { file } })
  await waitFor('the prune', () => !disk.has('uppers/stray'))
  expect(disk.has('uppers/old')).toBe(true)
  await waitFor('the entry', () =>
    /"action":"system.prune".*"reason":"schedule"/.test(readFileSync(file, 'utf8')),
  )
})
