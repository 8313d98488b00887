import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { SettingsStore } from '../../../src/workspace/settings/settings-store.ts'
import type { WorkspaceSettings } from '../../../src/workspace/workspace-settings.ts'
import type { Workspace } from '../../../src/workspace/workspace.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { rounds } from '../../support/rounds.ts'

const DEMO: Workspace = {
  name: 'Demo',
  backend: 'docker',
  state: { is: 'running' },
  createdAt: new Date('2026-01-02T03:04:05.678Z'),
  repo: '',
  localDir: '',
  image: 'any:1',
  containerId: 'c1',
  ipAddress: '',
  pid: 0,
  rootfsPath: '',
  cpus: 0,
  memoryMb: 0,
  forwardPorts: [],
  labels: { given: 'at creation' },
}

const limit = fc.option(fc.integer({ min: 0, max: 3.2e11 }), { nil: undefined })
const settings: fc.Arbitrary<WorkspaceSettings> = fc.record({
  labels: fc.option(
    fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'binary' }), { minKeys: 1 }),
    {
      nil: undefined,
    },
  ),
  wakes: fc.option(fc.boolean(), { nil: undefined }),
  idle: fc
    .record({ stopAfterMs: limit, suspendAfterMs: limit })
    .map((idle) => ((idle.stopAfterMs ?? idle.suspendAfterMs) === undefined ? undefined : idle)),
  checkpoints: fc.option(fc.record({ everyMs: limit, keep: limit, maxAgeMs: limit }), { nil: undefined }),
  expiry: fc.option(
    fc.record({
      at: fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true }),
      action: fc.constantFrom('stop', 'delete'),
    }),
    { nil: undefined },
  ),
})

const pick = ({ labels, wakes, idle, checkpoints, expiry }: Workspace): WorkspaceSettings => ({
  labels,
  wakes,
  idle,
  checkpoints,
  expiry,
})
const fileOf = (stateDir: string) => join(stateDir, 'settings', 'demo.json')

test('settings of any kind survive a restart, for exactly their workspace', async () => {
  await fc.assert(
    fc.asyncProperty(settings, async (given) => {
      const stateDir = tempDir()
      await (await SettingsStore.open(stateDir)).write(DEMO, given)
      const store = await SettingsStore.open(stateDir)
      expect(pick(store.complete(DEMO))).toEqual(given)
      const others: readonly Workspace[] = [
        { ...DEMO, createdAt: new Date(DEMO.createdAt.getTime() + 1) },
        { ...DEMO, backend: 'qemu' },
        { ...DEMO, name: 'other' },
      ]
      for (const other of others) expect(store.complete(other)).toEqual(other)
      await store.remove('DEMO')
      expect(readdirSync(join(stateDir, 'settings'))).toEqual([])
      expect((await SettingsStore.open(stateDir)).complete(DEMO)).toEqual(DEMO)
    }),
    { numRuns: rounds(20, 100) },
  )
})

test('a damaged file is an error without an expiry, for any damage', { tags: ['long'] }, async () => {
  const damage = fc.oneof(
    fc.record({ is: fc.constant('flip' as const), at: fc.nat(), bit: fc.nat(7) }),
    fc.record({ is: fc.constant('cut' as const), at: fc.nat() }),
    fc.record({ is: fc.constant('zero' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 64 }) }),
    fc.record({ is: fc.constant('replace' as const), bytes: fc.uint8Array({ maxLength: 400 }) }),
  )
  await fc.assert(
    fc.asyncProperty(settings, damage, async (given, harm) => {
      const stateDir = tempDir()
      await (await SettingsStore.open(stateDir)).write(DEMO, given)
      let bytes = readFileSync(fileOf(stateDir))
      const before = Buffer.from(bytes)
      if (harm.is === 'replace') bytes = Buffer.from(harm.bytes)
      else {
        const at = harm.at % bytes.length
        if (harm.is === 'cut') bytes = bytes.subarray(0, at)
        else if (harm.is === 'zero') bytes.fill(0, at, Math.min(bytes.length, at + harm.length))
        else bytes[at] = (bytes[at] ?? 0) ^ (1 << harm.bit)
      }
      fc.pre(!bytes.equals(before))
      writeFileSync(fileOf(stateDir), bytes)
      const found = (await SettingsStore.open(stateDir)).complete(DEMO)
      expect(found.settingsError).toContain('damaged')
      expect(pick(found)).toEqual({ labels: DEMO.labels })
    }),
    { numRuns: rounds(60, 300) },
  )
})

test('a write that was interrupted at any byte keeps the settings before it', async () => {
  await fc.assert(
    fc.asyncProperty(settings, settings, fc.nat(), async (before, next, at) => {
      const stateDir = tempDir()
      await (await SettingsStore.open(stateDir)).write(DEMO, next)
      const unfinished = readFileSync(fileOf(stateDir))
      await (await SettingsStore.open(stateDir)).write(DEMO, before)
      writeFileSync(
        `${fileOf(stateDir)}.0123456789ab.tmp`,
        unfinished.subarray(0, at % (unfinished.length + 1)),
      )
      expect(pick((await SettingsStore.open(stateDir)).complete(DEMO))).toEqual(before)
      expect(readdirSync(join(stateDir, 'settings'))).toEqual(['demo.json'])
    }),
    { numRuns: rounds(20, 100) },
  )
})

test('a directory that cannot be listed fails the start', async () => {
  const stateDir = tempDir()
  writeFileSync(join(stateDir, 'settings'), '')
  await expect(SettingsStore.open(stateDir)).rejects.toThrow('settings')
})
