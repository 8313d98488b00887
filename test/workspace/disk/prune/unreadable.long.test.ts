import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { fingerprint, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { names, OLD, prune, reasonOf } from '../../../support/workspace/disk/prune.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { call } from '../../../support/workspace/server/test-server.ts'

describe('P2 metadata never provides paths', () => {
  test('P2 nothing outside is touched by any path in metadata', async () => {
    const disk = new MachineDisk()
    const victim = tempDir()
    writeFileSync(join(victim, 'file'), 'x')
    disk.machine('old', OLD)
    const file = disk.at('instances/old/metadata.json')
    const poisoned = {
      ...JSON.parse(readFileSync(file, 'utf8')),
      rootfs_path: victim,
      rootfsPath: victim,
      id: '0a0b0c0d',
    }
    disk.metadata('old', JSON.stringify(poisoned), OLD.ageMs)
    disk.machine('other', { ...OLD, name: '../../victim' })
    const before = fingerprint(victim)
    const body = await prune(await disk.serve())
    expect(names(body.items)).toEqual(['old'])
    expect(disk.has('uppers/other/upper.ext4')).toBe(true)
    expect(fingerprint(victim)).toBe(before)
  })
})

describe('P3 unreadable data pins everything that it could refer to', () => {
  const broken = ['', '{', 'null', '[]', '\0\0\0\0', '{"version":2}', '7', '{"version":1,"name":"broken"}']
  test.each(broken)(
    'P3 F8 with a metadata.json that contains %j nothing it could refer to is deleted',
    async (text) => {
      const disk = new MachineDisk()
      disk.machine('broken')
      disk.metadata('broken', text, OLD.ageMs)
      disk.machine('old', OLD)
      await disk.image('two', 'unused')
      const server = await disk.serve()
      const body = await prune(server, 'until=0s')
      expect(names(body.items)).toEqual(['old'])
      expect(disk.has('images/tags/unused.json')).toBe(true)
      expect(disk.has('uppers/broken/upper.ext4')).toBe(true)
      expect(reasonOf(body, 'broken')).toMatch(/error/)
      expect(body.notes.join()).toMatch(/images are not pruned.*broken/)
    },
  )

  test('P3 a snapshot pins its image, an unreadable one pins every image, and both are kept', async () => {
    const disk = new MachineDisk()
    disk.snapshot('good', await disk.image('one', 'pinned'))
    await disk.image('two', 'unused')
    const server = await disk.serve()
    const pinned = await prune(server, 'dry_run=true')
    expect([names(pinned.items), reasonOf(pinned, 'pinned')]).toEqual([
      ['unused'],
      'used by a workspace or snapshot',
    ])
    disk.snapshot('torn')
    writeFileSync(disk.at('snapshots/torn/snapshot.json'), '')
    const body = await prune(server)
    expect([body.items, body.notes.join()]).toEqual([
      [],
      expect.stringMatching(/images are not pruned.*torn/),
    ])
    expect(disk.has('snapshots/torn/snapshot.json')).toBe(true)
  })

  test('P3 an unreadable tag keeps every image', async () => {
    const disk = new MachineDisk()
    await disk.image('two', 'unused')
    writeFileSync(disk.at('images/tags/torn.json'), '')
    const body = await prune(await disk.serve(), 'scope=images')
    expect([body.items, body.notes.join()]).toEqual([[], expect.stringMatching(/tag torn/)])
    expect(disk.has('images/tags/unused.json')).toBe(true)
  })

  test('P3 without the instances directory no upper is treated as an orphan', async () => {
    const disk = new MachineDisk()
    disk.upper('demo')
    const server = await disk.serve()
    rmSync(disk.at('instances'), { recursive: true })
    const body = await prune(server)
    expect([body.items, reasonOf(body, 'demo')]).toEqual([
      [],
      expect.stringMatching(/"instances" is missing/),
    ])
  })

  test('P3 a metadata.json or snapshot.json that cannot be checked is not absent', async () => {
    const disk = new MachineDisk()
    disk.upper('demo')
    writeFileSync(disk.at('instances/demo'), 'no directory')
    mkdirSync(disk.at('snapshots/odd'))
    symlinkSync('snapshot.json', disk.at('snapshots/odd/snapshot.json'))
    const body = await prune(await disk.serve())
    expect([body.items, reasonOf(body, 'demo', 'upper')]).toEqual([
      [],
      expect.stringMatching(/cannot be checked/),
    ])
    expect(disk.has('snapshots/odd')).toBe(true)
  })

  test('P3 nothing of an unavailable backend is deleted', async () => {
    const disk = new MachineDisk()
    disk.machine('old', OLD)
    const server = await disk.serve({
      enabled_backends: ['qemu', 'docker'],
      docker: { host: 'unix:///nowhere/docker.sock' },
    })
    const body = await prune(server)
    expect(names(body.items)).toEqual(['old'])
    expect(body.notes.join('\n')).toMatch(
      /docker: images are not pruned \(the container engine at \S+ does not respond/,
    )
    expect(body.notes.join('\n')).toMatch(/docker: its workspaces are not pruned/)
  })
})

test('P1 a symlink in place of an upper is reported and kept, and so is its target', async () => {
  const disk = new MachineDisk()
  const victim = tempDir()
  writeFileSync(join(victim, 'upper.ext4'), 'x')
  symlinkSync(victim, disk.at('uppers/linked'))
  mkdirSync(disk.at('images/blobs/sha256'), { recursive: true })
  symlinkSync(victim, disk.at('images/blobs/sha256/01.tmp'))
  const body = await prune(await disk.serve())
  expect([body.items, reasonOf(body, 'linked'), reasonOf(body, '01.tmp')]).toEqual([
    [],
    expect.stringMatching(/symbolic link/),
    expect.stringMatching(/symbolic link/),
  ])
  expect(readFileSync(join(victim, 'upper.ext4'), 'utf8')).toBe('x')
})

test('P3 an entry without a valid name is kept, because no lock protects it', async () => {
  const disk = new MachineDisk()
  const foreign = ['snapshots/lost+found', 'snapshots/Backup', 'uppers/lost+found']
  for (const directory of foreign) mkdirSync(disk.at(directory))
  const body = await prune(await disk.serve(), 'scope=orphans')
  expect(body.items).toEqual([])
  expect(reasonOf(body, 'Backup')).toBe('its name is not a valid snapshot name; remove it manually')
  for (const directory of foreign) expect(disk.has(directory)).toBe(true)
})

/** Ways in which a metadata.json can become unreadable below a running server (fault F8). */
test.each(['', '{', 'null', '\0\0', '{"version":1}'])(
  'F8 a metadata.json that becomes %j is one state everywhere: list, GET, df and prune',
  async (text) => {
    const disk = new MachineDisk()
    disk.machine('old', OLD)
    const server = await disk.serve()
    disk.metadata('old', text, OLD.ageMs)
    disk.machine('late', OLD)
    disk.metadata('late', text, OLD.ageMs)
    const rowsOf = async (path: string) =>
      (await call(`${server.url}/api${path}`)).body.workspaces.map(({ name, status }: any) => [name, status])
    const inError = [
      ['late', 'error'],
      ['old', 'error'],
    ]
    // Before the change was noticed: a workspace missing from the table is not shown as kept.
    expect(await rowsOf('/system/df')).toContainEqual(['late', 'error'])
    const body = await prune(server, 'until=0s')
    expect(body.items).toEqual([])
    for (const name of ['old', 'late']) expect(reasonOf(body, name)).toMatch(/state error: .*metadata.json/)
    await waitFor('the list', async () => (await rowsOf('/workspaces')).length === 2)
    await waitFor('its states', async () =>
      isDeepStrictEqual((await rowsOf('/workspaces')).toSorted(), inError),
    )
    expect((await rowsOf('/system/df')).toSorted()).toEqual(inError)
    for (const name of ['old', 'late']) {
      const { status, body: one } = await server.api(`workspaces/${name}`)
      expect([status, one.status]).toEqual([200, 'error'])
    }
    disk.machine('old', OLD)
    await waitFor('what is readable again', async () =>
      (await rowsOf('/workspaces')).some(([name, status]: any) => name === 'old' && status === 'stopped'),
    )
  },
)
