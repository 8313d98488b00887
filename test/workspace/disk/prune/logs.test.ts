import { linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { prune } from '../../../support/workspace/disk/prune.ts'
import { tempDir } from '../../../support/temp-dir.ts'

describe('logs', () => {
  test('P10 a log is truncated to its last bytes, and only on request', async () => {
    const disk = new MachineDisk('vz')
    disk.machine('demo')
    const content = Buffer.from(Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`).join(''))
    const log = disk.console('demo', content)
    const server = await disk.serve()
    expect((await prune(server)).items).toEqual([])
    const body = await prune(server, 'scope=logs&log_tail_bytes=10000')
    expect(body.items).toMatchObject([
      { kind: 'log', name: 'demo', action: 'truncated', freed: { logical_bytes: content.length - 10_000 } },
    ])
    expect(readFileSync(log)).toEqual(content.subarray(-10_000))
    expect((await prune(server, 'scope=logs&log_tail_bytes=10000')).items).toEqual([])
    expect((await prune(server, 'scope=logs&log_tail_bytes=0')).items).toHaveLength(1)
    expect(readFileSync(log)).toEqual(Buffer.alloc(0))
  })

  test('P10 a log that is a link or has other links is not truncated', async () => {
    const disk = new MachineDisk('vz')
    const victim = join(tempDir(), 'victim')
    writeFileSync(victim, 'x'.repeat(10_000))
    disk.machine('linked')
    symlinkSync(victim, disk.at('instances/linked/console.log'))
    disk.machine('named')
    linkSync(victim, disk.at('instances/named/console.log'))
    const body = await prune(await disk.serve(), 'scope=logs&log_tail_bytes=1')
    expect(body.items.map(({ name, action }: any) => [name, action])).toEqual(
      expect.arrayContaining([['named', 'failed']]),
    )
    expect(readFileSync(victim, 'utf8')).toHaveLength(10_000)
  })

  test('firecracker VMs have no console logs', async () => {
    const disk = new MachineDisk('firecracker')
    disk.machine('demo')
    disk.console('demo', 'x'.repeat(1000))
    const body = await prune(await disk.serve(), 'scope=logs&log_tail_bytes=1')
    expect([body.items, body.notes]).toEqual([[], ['firecracker: there are no console logs']])
  })
})
