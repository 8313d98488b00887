import { closeSync, existsSync, openSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../src/lib/process/find-program.ts'
import { walkTreesInJs } from '../../src/native/files/disk-fallback.ts'
import { walkTrees } from '../../src/native/files/disk.ts'
import { loadAddon } from '../../src/native/load.ts'
import { EXTENT_COUNT, FILES, type Machines, makeMachines, UPPER_COUNT } from '../disk-machines.ts'
import type { Bench, Case } from '../harness.ts'
import { serve } from '../served.ts'

const KINDS = ['ext4', 'xfs', 'btrfs'] as const
/** The server's setting: see src/workspace/disk/walker.ts. */
const EXTENTS_FROM_BYTES = 64 * 1024
const REPORTS = 5
/** Reports remember extents of disks that have not changed for two minutes. */
const SETTLED_MS = 600_000
const CHANGED = ['machine-10', 'machine-20']

const bench: Bench = {
  note:
    'Ours is the function in a running server, which measures apparent and allocated bytes in one pass and counts shared extents once; the ' +
    'peers are complete processes, including about 1 ms of exec, and report only one of the sizes. diskus uses as many threads as it wants. All with a warm ' +
    'cache, on file systems in files. For sparse disks that share extents (XFS, btrfs), the first report asks the file system about each of 200,000 extents, so that they are ' +
    'counted once; later ones ask only about disks that have changed, here none or 2 of them. The peers count shared extents in every file.',

  async prepare() {
    const loaded = loadAddon()
    if (loaded.is === 'absent') throw new Error(`the addon is not built: ${loaded.reason}`)
    const diskus = await findDiskus()
    const disks: { readonly kind: string; readonly machines: Machines }[] = []
    const cleanUp = (): void => {
      for (const { machines } of disks.splice(0)) machines.remove()
    }
    try {
      for (const kind of KINDS) disks.push({ kind, machines: makeMachines(kind) })
    } catch (error) {
      cleanUp()
      throw error
    }
    return {
      cases: disks.flatMap(({ kind, machines }) => casesOf(kind, machines, diskus)),
      more: async () => {
        const lines = [
          'GET /api/workspaces with 200 machines over new connections, during continuous reports:',
          '',
        ]
        for (const { kind, machines } of disks) lines.push(await latencies(kind, machines))
        return lines.join('\n')
      },
      cleanUp,
    }
  },
}
export default bench

function casesOf(kind: string, { tree, uppers }: Machines, diskus: string): readonly Case[] {
  const files = `${FILES.toLocaleString('en')} files, ${kind}`
  const ours = (path: string) => () => walkTrees([path], { extentsFromBytes: EXTENTS_FROM_BYTES })
  const exact = (path: string) => () => walkTrees([path])
  const du = (path: string) => ({ peer: ['du', '-s', '-B1', path] as const, peerName: 'du -s' })
  const apparent = (path: string) => ({
    peer: ['du', '-s', '--apparent-size', path] as const,
    peerName: 'du -s --apparent-size',
  })
  const parallel = (path: string) => ({ peer: [diskus, path] as const, peerName: 'diskus' })
  const disks = `${UPPER_COUNT} sparse disks of ${EXTENT_COUNT} extents, ${kind}`
  const again = (): Promise<unknown> =>
    walkTrees([uppers], {
      extentsFromBytes: EXTENTS_FROM_BYTES,
      rememberAt: new Date(Date.now() + SETTLED_MS),
    })
  const changeDisks = (): void => CHANGED.forEach((name) => changeDisk(join(uppers, name)))
  return [
    { name: files, ours: ours(tree), ...du(tree) },
    { name: files, ours: ours(tree), ...apparent(tree) },
    { name: files, ours: ours(tree), ...parallel(tree) },
    ...(kind === 'ext4'
      ? [{ name: `${files}, JavaScript fallback`, ours: () => walkTreesInJs([tree]), ...du(tree) }]
      : [{ name: `${files}, every file's extents`, ours: exact(tree), ...du(tree) }]),
    { name: disks, ours: ours(uppers), ...du(uppers) },
    { name: disks, ours: ours(uppers), ...parallel(uppers) },
    ...(kind === 'ext4'
      ? []
      : [
          { name: `${disks}, later report`, ours: again, ...du(uppers) },
          {
            name: `${disks}, later report, 1 % changed`,
            ours: again,
            beforeEach: changeDisks,
            ...du(uppers),
          },
        ]),
  ]
}

/** Writes to a disk, as a running machine does. */
function changeDisk(directory: string): void {
  const fd = openSync(join(directory, 'upper.ext4'), 'r+')
  writeSync(fd, Buffer.alloc(4096, 'y'), 0, 4096, 0)
  closeSync(fd)
}

/** Finds diskus, which crates.io provides: `cargo install diskus`. */
async function findDiskus(): Promise<string> {
  const installed = join(homedir(), '.cargo/bin/diskus')
  const found = (await findProgram('diskus')) ?? (existsSync(installed) ? installed : undefined)
  if (found === undefined) throw new Error('diskus is not installed; run cargo install diskus')
  return found
}

async function latencies(kind: string, { root }: Machines): Promise<string> {
  const server = await serve(undefined, {
    WORKSPACE_ENABLED_BACKENDS: 'docker,qemu',
    WORKSPACE_QEMU__ROOT: root,
  })
  try {
    const df = async (): Promise<number> => {
      const startMs = performance.now()
      await (await fetch(`${server.url}/api/system/df`)).arrayBuffer()
      return performance.now() - startMs
    }
    await df()
    const idle = await timesUntil(server.url, () => new Promise((resolve) => setTimeout(resolve, 3_000)))
    const reportMs: number[] = []
    const busy = await timesUntil(server.url, async () => {
      for (let i = 0; i < REPORTS; i++) reportMs.push(await df())
    })
    const mean = reportMs.reduce((sum, ms) => sum + ms, 0) / reportMs.length
    return `- ${kind}: p50 ${at(busy, 0.5)}, p99 ${at(busy, 0.99)}, max ${at(busy, 1)} of ${busy.length} (without a report: p50 ${at(idle, 0.5)}, p99 ${at(idle, 0.99)}); a report took ${mean.toFixed(0)} ms`
  } finally {
    await server.stop()
  }
}

async function timesUntil(url: string, work: () => Promise<unknown>): Promise<readonly number[]> {
  let isDone = false
  const ending = work().finally(() => (isDone = true))
  const times: number[] = []
  // oxlint-disable-next-line no-unmodified-loop-condition -- the callback modifies it
  while (!isDone) {
    const startMs = performance.now()
    await (await fetch(`${url}/api/workspaces`, { headers: { connection: 'close' } })).arrayBuffer()
    times.push(performance.now() - startMs)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await ending
  return times.toSorted((a, b) => a - b)
}

function at(sorted: readonly number[], share: number): string {
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1)} ms`
}
