import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Driver } from '../../../src/workspace/backend/microvm/driver.ts'
import type { NetworkMode } from '../../../src/workspace/backend/microvm/network/network.ts'
import { Networks } from '../../../src/workspace/backend/microvm/networks.ts'
import { writeFilterRules } from '../../../src/workspace/backend/microvm/network/filter-rules.ts'
import type { NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import type { Outcome, Report } from '../../../src/workspace/backend/trouble.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'
import { messageOf } from '../../../src/lib/errors/message.ts'
import { failingNft } from '../../support/failing-nft.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const SERVER: NetworkPolicy = { allowHostPorts: [443, 5_432], egress: 'internet' }
const LIMITS = { allowHostPorts: [443], egress: ['203.0.113.0/24'] } as const
const OF_SERVER = 'egress internet\nhost-port 443\nhost-port 5432\n'
const OF_LIMITS = 'egress listed\nallow 203.0.113.0/24\nhost-port 443\n'
const [FIRST, SECOND] = ['a1b2c3d4', 'd4c3b2a1']

function networks(mode: NetworkMode, report: Report = () => undefined, root = tempDir()): Networks {
  const driver: Pick<Driver, 'name' | 'userNetwork' | 'userOf'> = {
    name: 'qemu',
    userNetwork: { isIsolated: true, address: 'dhcp', missing: () => Promise.resolve(undefined) },
    userOf: () => undefined,
  }
  const made = new Networks(root, mode, driver as Driver, SERVER, report)
  onTestFinished(() => made.close())
  return made
}
const progress = () => undefined

test('N2 N3 a VM’s filter enforces the limits of its workspace, also under a later server', async () => {
  const limited = await networks('user').attach(FIRST, LIMITS, new Set(), progress)
  expect(limited).toMatchObject({ is: 'user', policy: LIMITS, allowed: ['203.0.113.0/24'] })
  const directory = tempDir()
  const later = networks('user')
  const rulesOf = (id: string) => readFileSync(join(directory, `${id}.rules`), 'utf8')
  for (const [id, limits] of [
    [FIRST, LIMITS],
    [SECOND, undefined],
  ] as const) {
    const socketDir = join(directory, id)
    await writeFilterRules(socketDir, { allowHostPorts: [], egress: 'open' }, [])
    await later.adopt({ id, name: id, socketDir, ipAddress: '' }, limits)
  }
  expect([rulesOf(FIRST), rulesOf(SECOND)]).toEqual([OF_LIMITS, OF_SERVER])
})

describe.runIf(process.getuid?.() === 0)('machines on tap devices', () => {
  const tables = () =>
    execFileSync('/usr/sbin/nft', ['list', 'tables', 'inet'], { encoding: 'utf8' }).match(
      /workspace_vm_\w+/g,
    ) ?? []

  test('N2 N3 have rules for their limits, which are removed with them', async () => {
    const before = new Set(tables())
    const made = networks('tap')
    try {
      await made.attach(FIRST, LIMITS, new Set(), progress)
      await made.attach(SECOND, undefined, new Set(), progress)
      const rules = tables()
        .filter((table) => !before.has(table))
        .map((table) => execFileSync('/usr/sbin/nft', ['list', 'table', 'inet', table], { encoding: 'utf8' }))
      expect(rules).toHaveLength(2)
      const [limited, other] = rules[0]?.includes('203.0.113.0/24') === true ? rules : rules.toReversed()
      expect(limited).toContain('ip daddr 203.0.113.0/24 accept')
      expect(limited).toContain('dport 443 accept')
      expect(limited).not.toContain('5432')
      expect(other).not.toContain('203.0.113.0/24')
      expect(other).toContain('5432')
    } finally {
      await made.release(FIRST)
      await made.release(SECOND)
    }
    expect(tables().filter((table) => !before.has(table))).toEqual([])
  })

  test('N1 a later server that cannot restore their rules disconnects them, until it can', async () => {
    const before = new Set(tables())
    const root = tempDir()
    const earlier = networks('tap', undefined, root)
    const plan = await earlier.attach(FIRST, undefined, new Set(), progress)
    if (plan.is !== 'tap') throw new Error('it has no tap device')
    const table = tables().find((each) => !before.has(each)) ?? ''
    const bridge = `wsvm${table.slice('workspace_vm_'.length)}`
    const isUp = () =>
      execFileSync('ip', ['link', 'show', 'dev', bridge], { encoding: 'utf8' }).includes(',UP')
    expect(isUp()).toBe(true)
    earlier.close()
    execFileSync('/usr/sbin/nft', ['delete', 'table', 'inet', table])

    const mend = failingNft()
    const outcomes: Outcome[] = []
    const later = networks('tap', (outcome) => outcomes.push(outcome), root)
    const machine = { id: FIRST, name: 'demo', socketDir: tempDir(), ipAddress: plan.address.address }
    try {
      await later.adopt(machine, undefined)
      expect(isUp()).toBe(false)
      const [failure] = outcomes
      expect(failure).toMatchObject({ what: 'apply the network rules' })
      expect(messageOf(failure?.error)).toMatch(/planted failure.*cut off/)
      const affected = { ipAddress: machine.ipAddress, state: { is: 'running' } } as Workspace
      expect(failure?.subject?.concerns(affected)).toBe(true)
      mend()
      await waitFor('the bridge', isUp)
      expect(tables()).toContain(table)
      expect(outcomes.at(-1)).toMatchObject({ error: undefined })
    } finally {
      mend()
      await later.release(FIRST)
    }
    expect(tables()).not.toContain(table)
  })
})
