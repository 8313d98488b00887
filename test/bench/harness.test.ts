import { expect, it } from 'vitest'
import { measure, table } from '../../bench/harness.ts'

it('measure alternates after one warm-up of each side', async () => {
  const calls: string[] = []
  await measure(
    { name: 'x', ours: () => calls.push('ours'), peer: () => calls.push('peer'), peerName: 'y' },
    2,
  )
  expect(calls).toEqual(['ours', 'peer', 'ours', 'peer', 'ours', 'peer'])
})

it('measure waits for a returned promise', async () => {
  const line = await measure(
    {
      name: 'x',
      ours: () => undefined,
      peer: () => new Promise((end) => setTimeout(end, 20)),
      peerName: 'y',
    },
    3,
  )
  expect(line.peerMs).toBeGreaterThan(15)
  expect(line.ratio).toBeGreaterThan(1)
  expect(line.minRatio).toBeLessThanOrEqual(line.ratio)
})

it('measure fails when a command fails', async () => {
  await expect(measure({ name: 'x', ours: ['false'], peer: ['true'], peerName: 'y' }, 1)).rejects.toThrow(
    /Command failed/,
  )
})

it('table has one row per case', () => {
  const one = { name: 'job', ours: () => 0, peer: () => 0, peerName: 'them' }
  const line = { case: one, oursMs: 1, peerMs: 2.26, ratio: 2.257, minRatio: 2, maxRatio: 3 }
  expect(table([line]).split('\n').at(-1)).toBe('| job | 1.0 ms | 2.3 ms (them) | 2.26× | 2.00–3.00× |')
})

it('table shows the rate if a case names its megabytes', () => {
  const one = { name: 'job', ours: () => 0, peer: () => 0, peerName: 'them', megabytes: 256 }
  const line = { case: one, oursMs: 500, peerMs: 1000, ratio: 2, minRatio: 2, maxRatio: 2 }
  expect(table([line])).toContain('| 500.0 ms, 512 MB/s | 1000.0 ms, 256 MB/s (them) |')
})
