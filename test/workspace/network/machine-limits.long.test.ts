import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Driver } from '../../../src/workspace/backend/microvm/driver.ts'
import type { NetworkMode } from '../../../src/workspace/backend/microvm/network/network.ts'
import { Networks } from '../../../src/workspace/backend/microvm/networks.ts'
import { writeFilterRules } from '../../../src/workspace/backend/microvm/network/filter-rules.ts'
import type { NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import { tempDir } from '../../support/temp-dir.ts'

const SERVER: NetworkPolicy = { allowHostPorts: [443, 5_432], egress: 'internet' }
const LIMITS = { allowHostPorts: [443], egress: ['203.0.113.0/24'] } as const
const OF_SERVER = 'egress internet\nhost-port 443\nhost-port 5432\n'
const OF_LIMITS = 'egress listed\nallow 203.0.113.0/24\nhost-port 443\n'
const [FIRST, SECOND] = ['a1b2c3d4', 'd4c3b2a1']

function networks(mode: NetworkMode): Networks {
  const driver: Pick<Driver, 'name' | 'userNetwork' | 'userOf'> = {
    name: 'qemu',
    userNetwork: { isIsolated: true, address: 'dhcp', missing: () => Promise.resolve(undefined) },
    userOf: () => undefined,
  }
  const made = new Networks(tempDir(), mode, driver as Driver, SERVER)
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
    await later.adopt(id, limits, socketDir, '')
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
})
