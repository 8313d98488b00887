import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Driver } from '../../../../../src/workspace/backend/microvm/driver.ts'
import { Networks } from '../../../../../src/workspace/backend/microvm/networks.ts'
import { writeFilterRules } from '../../../../../src/workspace/backend/microvm/network/filter-rules.ts'
import type { Outcome } from '../../../../../src/workspace/backend/trouble.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

const RETRY_MS = 10_000
const NONE = { allowHostPorts: [], egress: 'none' } as const
const listed = (...allowed: readonly string[]) => [{ allowHostPorts: [], egress: allowed }, allowed] as const

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** The rules of a machine in a directory whose file cannot be replaced until `mend` is called. */
async function makeRules(
  ...[policy, allowed]: Parameters<typeof writeFilterRules> extends [string, ...infer R] ? R : never
) {
  const socketDir = join(tempDir(), 'machine')
  await writeFilterRules(socketDir, policy, allowed)
  const blocked = `${socketDir}.rules.new`
  mkdirSync(blocked)
  return {
    socketDir,
    read: () => readFileSync(`${socketDir}.rules`, 'utf8'),
    mend: () => existsSync(blocked) && rmdirSync(blocked),
  }
}

test('rules that allow more than the new ones give way to none when they cannot be replaced', async () => {
  const { socketDir, read } = await makeRules(...listed('192.0.2.1', '192.0.2.2'))
  await expect(writeFilterRules(socketDir, ...listed('192.0.2.2'))).rejects.toThrow('EISDIR')
  expect(read()).toBe('')
})

test('rules that allow no more than the new ones stay when they cannot be replaced', async () => {
  const { socketDir, read } = await makeRules(...listed('192.0.2.1'))
  await expect(writeFilterRules(socketDir, ...listed('192.0.2.1', '192.0.2.2'))).rejects.toThrow('EISDIR')
  expect(read()).toBe('egress listed\nallow 192.0.2.1\n')
})

test('a later server reports rules that it cannot apply, and applies them as soon as it can', async () => {
  const { socketDir, read, mend } = await makeRules({ allowHostPorts: [22], egress: 'open' }, [])
  const outcomes: Outcome[] = []
  const driver = { name: 'qemu' } as Driver
  const networks = new Networks(tempDir(), 'user', driver, NONE, (outcome) => outcomes.push(outcome))
  onTestFinished(() => networks.close())
  await networks.adopt({ id: 'a1b2c3d4', name: 'demo', socketDir, ipAddress: '' }, undefined)
  expect(outcomes).toMatchObject([{ what: 'apply the network rules', error: { code: 'EISDIR' } }])
  expect(outcomes[0]?.subject?.concerns({ name: 'demo' } as never)).toBe(true)
  expect(read()).toBe('')
  mend()
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  await vi.waitFor(() => expect(outcomes).toMatchObject([{}, { error: undefined }]))
  expect(read()).toBe('egress none\n')
})

test('rules of a machine that has ended are not written any more', async () => {
  const { socketDir, mend } = await makeRules({ allowHostPorts: [22], egress: 'open' }, [])
  const networks = new Networks(tempDir(), 'user', { name: 'qemu' } as Driver, NONE, () => undefined)
  onTestFinished(() => networks.close())
  await networks.adopt({ id: 'a1b2c3d4', name: 'demo', socketDir, ipAddress: '' }, undefined)
  await networks.release('a1b2c3d4')
  mend()
  writeFileSync(`${socketDir}.rules`, 'untouched')
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(readFileSync(`${socketDir}.rules`, 'utf8')).toBe('untouched')
})
