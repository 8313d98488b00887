import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sample } from '../../../support/rounds.ts'
import { HOUR_MS, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { names, OLD, prune, reasonOf } from '../../../support/workspace/disk/prune.ts'
import { systemClock } from '../../../../src/lib/clock/clock.ts'

describe('P6 changing the system clock never makes anything eligible for deletion', () => {
  test('P6 a workspace changed in the future is too recent, except for until 0s', async () => {
    const disk = new MachineDisk()
    disk.machine('ahead', { ageMs: -48 * HOUR_MS })
    const server = await disk.serve()
    expect(reasonOf(await prune(server), 'ahead')).toMatch(
      /^too recent \(changed in the future: check the clock/,
    )
    expect(names((await prune(server, 'until=0s')).items)).toEqual(['ahead'])
  })

  test.each(sample([10 * 365 * 24 * HOUR_MS, 2 * HOUR_MS], 2))(
    'P6 a clock that jumps ahead by %d ms while the server runs keeps everything',
    async (byMs) => {
      let aheadMs = 0
      const disk = new MachineDisk()
      disk.machine('old', OLD)
      disk.machine('young', { ageMs: 71 * HOUR_MS })
      const server = await disk.serve({}, { clock: { ...systemClock, wallMs: () => Date.now() + aheadMs } })
      aheadMs = byMs
      const body = await prune(server)
      expect([body.items, reasonOf(body, 'young')]).toEqual([[], expect.stringMatching(/the clock was set/)])
      aheadMs = 0
      expect(names((await prune(server)).items)).toEqual(['old'])
    },
  )
})

test.each(sample([2 * HOUR_MS, 50 * 60_000, -2 * HOUR_MS], 3))(
  'P6 a file that is being written is kept when the clock is set by %d ms',
  async (byMs) => {
    let aheadMs = 0
    const disk = new MachineDisk()
    disk.machine('demo', OLD)
    const server = await disk.serve({}, { clock: { ...systemClock, wallMs: () => Date.now() + aheadMs } })
    const write = (name: string, ageMs: number) => {
      const file = disk.at(`instances/demo/metadata.json.${name}.tmp`)
      writeFileSync(file, 'half')
      const time = new Date(Date.now() - ageMs)
      utimesSync(file, time, time)
    }
    write('young', 15 * 60_000)
    write('left', 3 * HOUR_MS)
    aheadMs = byMs
    const body = await prune(server, 'scope=orphans')
    expect(reasonOf(body, 'metadata.json.young.tmp')).toMatch(/too recent/)
    if (byMs > 0) expect(names(body.items)).toEqual(['metadata.json.left.tmp'])
  },
)

describe('P7 prune deletes what was shown, or less', () => {
  test('P7 a plan deletes only its own items that still qualify', async () => {
    const disk = new MachineDisk()
    for (const name of ['one', 'two', 'three']) disk.machine(name, OLD)
    disk.upper('stray')
    const server = await disk.serve()
    const { plan_id: plan } = await prune(server, 'dry_run=true')
    // In the meantime one is used again, one is created again, and two more items qualify.
    disk.machine('one')
    rmSync(disk.at('uppers/stray'), { recursive: true })
    disk.upper('stray')
    disk.upper('later')
    const body = await prune(server, `plan_id=${plan}`)
    expect(names(body.items)).toEqual(['three', 'two'])
    expect(reasonOf(body, 'one')).toMatch(/too recent/)
    expect(reasonOf(body, 'stray')).toBe('it has changed since the plan was made')
    expect(disk.has('uppers/later')).toBe(true)
    const again = await server.api(`system/prune?plan_id=${plan}`, 'POST')
    expect([again.status, again.body.error.message]).toEqual([
      400,
      expect.stringMatching(/unknown, already applied/),
    ])
  })

  test('P7 a plan is applied with the values it was made with', async () => {
    const disk = new MachineDisk()
    disk.machine('young')
    disk.upper('stray')
    const server = await disk.serve()
    const { plan_id: plan } = await prune(server, 'dry_run=true&scope=instances&until=0s')
    for (const other of [
      'scope=orphans',
      'scope=instances&scope=logs',
      'until=1s',
      'log_tail_bytes=1',
      'keep_free=1%25',
    ]) {
      const { status, body } = await server.api(`system/prune?plan_id=${plan}&${other}`, 'POST')
      expect([other, status, body.error.code]).toEqual([other, 400, 'INVALID_REQUEST'])
    }
    // The same values may be repeated in any notation.
    const same = 'scope=instances&until=0m&log_tail_bytes=5242880&dry_run=false'
    const body = await prune(server, `plan_id=${plan}&${same}`)
    expect([names(body.items), body.scope, body.until]).toEqual([['young'], ['instances'], '0s'])
    expect(disk.has('uppers/stray')).toBe(true)
  })
})
