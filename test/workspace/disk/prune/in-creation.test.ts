import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HOUR_MS, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { names, prune, reasonOf } from '../../../support/workspace/disk/prune.ts'
import { creationMark } from '../../../../src/workspace/backend/microvm/files/creating-mark.ts'

describe('P5 a directory that is being created is kept', () => {
  test('P5 a mark younger than an hour keeps its directory, and an older one does not', async () => {
    const disk = new MachineDisk()
    const tmp = 'images/blobs/sha256/01.tmp'
    for (const directory of ['uppers/new', 'uppers/lost', 'snapshots/new', tmp]) {
      mkdirSync(disk.at(directory), { recursive: true })
      writeFileSync(disk.at(directory, '.creating'), '')
    }
    disk.age(disk.at('uppers/lost/.creating'), HOUR_MS + 60_000)
    const body = await prune(await disk.serve(), 'scope=orphans')
    expect(names(body.items)).toEqual(['lost'])
    expect(reasonOf(body, 'new')).toMatch(/^being created \(its mark is \d+s old and expires after 1h\)$/)
    expect(reasonOf(body, '01.tmp')).toMatch(/being created/)
  })

  test('P5 a VM’s mark keeps its upper, which is created later without a mark', async () => {
    const disk = new MachineDisk()
    for (const name of ['new', 'lost']) {
      mkdirSync(disk.at('instances', name), { recursive: true })
      writeFileSync(disk.at('instances', name, '.creating'), '')
      mkdirSync(disk.at('uppers', name))
    }
    disk.age(disk.at('instances/lost/.creating'), HOUR_MS + 60_000)
    const body = await prune(await disk.serve(), 'scope=orphans')
    expect(names(body.items)).toEqual(['lost'])
    expect(reasonOf(body, 'new')).toMatch(/^being created \(its mark is \d+s old and expires after 1h\)$/)
  })

  test('P5 a mark’s age follows the host’s uptime when the clock was set ahead', async () => {
    const disk = new MachineDisk()
    mkdirSync(disk.at('uppers/new'))
    writeFileSync(disk.at('uppers/new/.creating'), await creationMark())
    // The file as seen after the clock has jumped ahead by ten years.
    disk.age(disk.at('uppers/new/.creating'), 10 * 365 * 24 * HOUR_MS)
    expect((await prune(await disk.serve())).items).toEqual([])
  })

  test('P5 no image remains are removed while an image is being created', { tags: ['long'] }, async () => {
    const disk = new MachineDisk()
    mkdirSync(disk.at('images/blobs/sha256/01.tmp'), { recursive: true })
    await disk.image('two', 'unused')
    const server = await disk.serve()
    const store = await disk.images()
    await store.preparation.during(async () => {
      const body = await prune(server)
      expect(body.items).toEqual([])
      expect(reasonOf(body, '01.tmp')).toBe('an image is being created')
      expect(reasonOf(body, 'unused')).toMatch(/images are being created/)
    })
    expect(names((await prune(server)).items)).toEqual(['01.tmp', 'unused'])
  })

  test('a temporary file is kept for an hour, because it may still be written', async () => {
    const disk = new MachineDisk()
    disk.machine('demo')
    const file = disk.at('instances/demo/metadata.json.0123456789ab.tmp')
    writeFileSync(file, '')
    const server = await disk.serve()
    expect((await prune(server)).items).toEqual([])
    disk.age(file, HOUR_MS + 1_000)
    expect(names((await prune(server)).items)).toEqual([file.slice(file.lastIndexOf('/') + 1)])
  })
})
