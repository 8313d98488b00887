import { Timeline } from '../../../../src/workspace/timeline/timeline.ts'
import { FilesInUse } from '../../../../src/workspace/disk/files-in-use.ts'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../../fast-check.ts'
import { expect } from 'vitest'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import { resumeTrash } from '../../../../src/workspace/disk/resume-trash.ts'
import { ImageStore } from '../../../../src/workspace/image/image-store.ts'
import { ImageLibrary } from '../../../../src/workspace/image/image-library.ts'
import { ClockWatch } from '../../../../src/workspace/disk/prune/clock-watch.ts'
import { Pruner } from '../../../../src/workspace/disk/prune/pruner.ts'
import { MachineFiles } from '../../../../src/workspace/backend/microvm/files/machine-files.ts'
import { CreationMarks } from '../../../../src/workspace/lifecycle/creation-marks.ts'
import { Lifecycle } from '../../../../src/workspace/lifecycle/lifecycle.ts'
import { SettingsStore } from '../../../../src/workspace/settings/settings-store.ts'
import { SnapshotLibrary } from '../../../../src/workspace/snapshot/snapshot-library.ts'
import type { Snapshots } from '../../../../src/workspace/backend/snapshot.ts'
import { MachineSnapshots } from '../../../../src/workspace/backend/microvm/machine-snapshots.ts'
import { WorkspaceTable } from '../../../../src/workspace/lifecycle/table.ts'
import { walkTrees } from '../../../../src/native/files/disk.ts'
import type { Workspace } from '../../../../src/workspace/workspace.ts'
import { FakeBackend } from '../backend/fake-backend.ts'
import { HOUR_MS, MachineDisk } from './machine-disk.ts'
import { tempDir } from '../../temp-dir.ts'
import { CREATE_DEFAULTS } from '../lifecycle/create-defaults.ts'
import { systemClock } from '../../../../src/lib/clock/clock.ts'
import { noEgress } from '../lifecycle/no-egress.ts'

const logger = createLogger({ level: 'silent', format: 'json' })
const request = { scopes: ['instances', 'orphans'], untilMs: 72 * HOUR_MS, logTailBytes: 0 } as const

async function world(disk?: MachineDisk) {
  const table = new WorkspaceTable()
  const backend = new FakeBackend()
  const machines: FakeBackend & { snapshots?: Snapshots } = new FakeBackend()
  if (disk !== undefined)
    machines.snapshots = new MachineSnapshots('qemu', new MachineFiles(disk.root), disk.images())
  const snapshots = new SnapshotLibrary([machines], systemClock)
  const lifecycle = new Lifecycle({
    egress: noEgress,
    timeline: new Timeline(systemClock),
    table,
    backends: new Map([['docker', backend]]),
    marks: new CreationMarks(tempDir()),
    settings: await SettingsStore.open(tempDir()),
    snapshots,
    defaults: CREATE_DEFAULTS,
    logger,
    clock: systemClock,
  })
  await lifecycle.open()
  const roots =
    disk === undefined ? [] : [{ backend: 'qemu' as const, root: disk.root, images: await disk.images() }]
  const images = new ImageLibrary([], { backend: 'docker', image: 'i', aliases: new Map() })
  const clock = new ClockWatch(systemClock)
  const pruner = new Pruner({
    table,
    lifecycle,
    snapshots,
    backends: [backend],
    clock,
    roots,
    images,
    logger,
    walker: { walk: walkTrees },
    // Inspecting the whole machine takes so long that a start would always win.
    findInUse: () => Promise.resolve(new FilesInUse()),
  })
  return { table, backend, lifecycle, pruner, snapshots, machines }
}

/** Yields to other work a few times. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

/** Starts a workspace while it is being pruned: it is either started or deleted, never both (threat P4). */
export async function expectStartsDuringPrune(numRuns: number): Promise<void> {
  const { table, backend, lifecycle, pruner } = await world()
  let [started, pruned] = [0, 0]
  const round = async (startAfter: number, pruneAfter: number, startTakes: number): Promise<void> => {
    await (await lifecycle.prepareCreate({ name: 'demo' })).make(() => undefined)
    await lifecycle.stop('demo')
    backend.changes.set('demo', new Date(Date.now() - 100 * HOUR_MS))
    backend.before.set('start', async () => {
      await turns(startTakes)
      backend.changes.delete('demo')
    })
    const [start, prune] = await Promise.allSettled([
      turns(startAfter).then(() => lifecycle.start('demo')),
      turns(pruneAfter).then(() => pruner.apply(request, () => undefined)),
    ])
    const isThere = (await backend.find('demo')) !== undefined
    expect(table.find('demo') !== undefined).toBe(isThere)
    expect(await backend.hasVolume('demo')).toBe(isThere)
    expect(prune.status).toBe('fulfilled')
    if (start.status === 'fulfilled') {
      expect((await backend.find('demo'))?.state.is).toBe('running')
      started++
    } else {
      expect(start.reason).toMatchObject({ code: 'WORKSPACE_NOT_FOUND' })
      pruned++
    }
    if (isThere) await lifecycle.remove('demo', false)
  }
  await fc.assert(fc.asyncProperty(fc.oneof(fc.nat(30), fc.nat(600)), fc.nat(30), fc.nat(10), round), {
    numRuns,
  })
  // On a busy machine one side may have won every time.
  const heads = [1_000, 10_000, 100_000, 1_000_000]
  for (const head of heads) if (pruned === 0) await round(head, 0, 0)
  for (const head of heads) if (started === 0) await round(0, head, 0)
  expect(Math.min(started, pruned)).toBeGreaterThan(0)
  await lifecycle.close()
}

/** Creates a VM while orphans are pruned: its disk is never treated as an orphan (threat P5). */
export async function expectCreationsDuringPrune(numRuns: number): Promise<void> {
  const disk = new MachineDisk()
  const { lifecycle, pruner } = await world(disk)
  const files = new MachineFiles(disk.root)
  const make = async (name: string, waits: readonly number[]): Promise<void> => {
    await files.begin(name)
    await turns(waits[0] ?? 0)
    await files.makeUpper(name, 2 ** 20)
    await turns(waits[1] ?? 0)
    disk.machine(name)
    await turns(waits[2] ?? 0)
    await files.end(name)
  }
  let made = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(10), { minLength: 4, maxLength: 4 }), async (waits) => {
      const name = `demo-${made++}`
      mkdirSync(disk.at('uppers/stray'), { recursive: true })
      const pruning = turns(waits[3] ?? 0).then(() => pruner.apply(request, () => undefined))
      await make(name, waits)
      await pruning
      expect(existsSync(join(disk.root, 'uppers', name, 'upper.ext4'))).toBe(true)
      expect(await files.read(name)).toMatchObject({ is: 'valid' })
      expect(existsSync(disk.at('uppers/stray'))).toBe(false)
      await files.removeUpper(name)
      await files.removeInstance(name)
    }),
    { numRuns },
  )
  await lifecycle.close()
}

/** Takes a snapshot over the partial one of a crash while orphans are pruned: it is complete (threat P5). */
export async function expectSnapshotsDuringPrune(numRuns: number): Promise<void> {
  const disk = new MachineDisk()
  const { lifecycle, pruner, snapshots, machines } = await world(disk)
  disk.machine('demo')
  // Orphans are inspected between the snapshots and the removal.
  for (let i = 0; i < 100; i++) mkdirSync(disk.at('uppers', `other_${i}`))
  const workspace: Workspace = {
    ...(await (await lifecycle.prepareCreate({ name: 'demo' })).make(() => undefined)),
    state: { is: 'stopped' },
  }
  let taken = 0
  await fc.assert(
    fc.asyncProperty(fc.nat(400), async (takeAfter) => {
      const name = `saved-${taken++}`
      mkdirSync(disk.at('snapshots', name))
      const removing = Promise.withResolvers<void>()
      const [take, prune] = await Promise.allSettled([
        removing.promise
          .then(() => turns(takeAfter))
          .then(() => snapshots.take(workspace, machines, { name, comment: '' })),
        pruner.apply(request, () => removing.resolve()),
      ])
      expect(take).toMatchObject({ status: 'fulfilled', value: { snapshot: { name, failure: '' } } })
      expect(prune.status).toBe('fulfilled')
      expect(readdirSync(disk.at('snapshots', name)).toSorted()).toEqual(['snapshot.json', 'upper.ext4'])
      await snapshots.remove(name)
    }),
    { numRuns },
  )
  await lifecycle.close()
}

/**
 * Restores an image that a workspace requests while it is being deleted, no matter who removes the remains of
 * deletions (threat P4).
 */
export async function expectImagesDuringPrune(clear: 'prune' | 'resume'): Promise<void> {
  const disk = new MachineDisk()
  const digest = await disk.image('wanted')
  const { lifecycle, pruner } = await world(disk)
  let looks = 0
  let clearing: Promise<unknown> | undefined
  const store = await ImageStore.open({
    root: disk.at('images'),
    pinnedDigests: async () => {
      // Not at first, but once it has been moved out of the way.
      if (++looks === 1) return new Set()
      const removing = Promise.withResolvers<void>()
      const roots = [{ backend: 'qemu' as const, root: disk.root, images: await disk.images() }]
      if (clear === 'prune') clearing = pruner.apply(request, () => removing.resolve())
      else {
        clearing = resumeTrash(roots, new AbortController().signal, logger)
        removing.resolve()
      }
      await removing.promise
      await Promise.race([clearing, turns(2_000)])
      return new Set([digest])
    },
  })
  expect(await store.remove(digest, () => true)).toBe(false)
  await clearing
  expect(await store.get(digest)).toMatchObject({ digest })
  await lifecycle.close()
}
