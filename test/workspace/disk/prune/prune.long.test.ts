import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { moveToTrash, removeTrash } from '../../../../src/native/files/trash.ts'
import { fingerprint, HOUR_MS, MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import {
  expectCreationsDuringPrune,
  expectStartsDuringPrune,
} from '../../../support/workspace/disk/prune-races.ts'
import { serveDisk } from '../../../support/vm/serve-disk.ts'
import { recovery } from '../../../support/recovery.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { rounds } from '../../../support/rounds.ts'
import { waitFor } from '../../../support/wait-for.ts'

const LONG_MS = 1_200_000
/** Number of rounds of each race. */
const ALL = rounds(150, 10_000)
const FILES = Array.from({ length: 8 }, (_, i) => `f${i}`)

test(
  `P4 ${ALL} starts during a prune leave each workspace started or deleted`,
  () => expectStartsDuringPrune(ALL),
  LONG_MS,
)

test(
  `P5 ${ALL / 5} machines created during a prune keep their disks`,
  () => expectCreationsDuringPrune(ALL / 5),
  LONG_MS,
)

/**
 * Swaps directories for links to a victim as fast as possible until stopped. The victim contains none of the swapped names:
 * through its own link it would otherwise move them itself.
 */
class Attacker {
  readonly #control = new Int32Array(new SharedArrayBuffer(16))
  readonly #worker: Worker

  constructor(root: string) {
    this.#worker = new Worker(
      `const { renameSync, symlinkSync, rmSync } = require('node:fs')
       const { workerData: { root, control } } = require('node:worker_threads')
       let asides = 0
       while (Atomics.load(control, 3) === 0) {
         if (Atomics.load(control, 0) === 0) { Atomics.store(control, 2, 1); Atomics.wait(control, 0, 0, 100); continue }
         for (const path of ['uppers/.trash-0/d', 'uppers/.trash-0', 'uppers/demo/d', 'uppers/demo']) {
           const aside = root + '/aside/' + asides++
           try {
             renameSync(root + '/' + path, aside)
             symlinkSync(root + '/victim', root + '/' + path)
             Atomics.add(control, 1, 1)
           } catch {}
         }
       }`,
      { eval: true, workerData: { root, control: this.#control } },
    )
  }

  get wins(): number {
    return Atomics.load(this.#control, 1)
  }

  async during(work: () => Promise<unknown>): Promise<void> {
    Atomics.store(this.#control, 0, 1)
    Atomics.notify(this.#control, 0)
    await work().catch(() => undefined)
    Atomics.store(this.#control, 2, 0)
    // It reports this itself once it notices.
    Atomics.store(this.#control, 0, 0)
    while (Atomics.load(this.#control, 2) === 0) await new Promise(setImmediate)
  }

  async end(): Promise<void> {
    Atomics.store(this.#control, 3, 1)
    await this.#worker.terminate()
  }
}

test(
  `P1 ${ALL} removals raced by swapping directories for links touch nothing outside`,
  async () => {
    const root = tempDir()
    for (const directory of ['victim/inner', 'aside']) mkdirSync(join(root, directory), { recursive: true })
    for (const name of FILES) {
      writeFileSync(join(root, 'victim', name), name)
      writeFileSync(join(root, 'victim/inner', name), name)
    }
    const before = fingerprint(join(root, 'victim'))
    const attacker = new Attacker(root)
    onTestFinished(() => attacker.end())
    const uppers = { root, parent: 'uppers' }
    const top = { root, parent: '.' }
    for (let round = 0; round < ALL; round++) {
      mkdirSync(join(root, 'uppers/demo/d'), { recursive: true })
      for (const name of FILES) writeFileSync(join(root, 'uppers/demo/d', name), '')
      await attacker.during(async () => {
        await moveToTrash(uppers, 'demo', '.trash-0')
        await removeTrash(uppers, '.trash-0')
      })
      // Removes the leftovers of the race in the same way, without a race.
      for (const name of ['uppers', 'aside']) {
        await moveToTrash(top, name, '.trash-1')
        await removeTrash(top, '.trash-1')
      }
      mkdirSync(join(root, 'aside'))
    }
    expect(fingerprint(join(root, 'victim'))).toBe(before)
    expect(attacker.wins).toBeGreaterThan(ALL / 2)
  },
  LONG_MS,
)

/** Returns leftovers of deletions anywhere. */
function trashIn(disk: MachineDisk): readonly string[] {
  try {
    const all = readdirSync(disk.root, { recursive: true, encoding: 'utf8' })
    return all.filter((path) => path.includes('.trash-'))
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    // It disappeared while being examined, and there may be more.
    if (code === 'ENOENT' && path !== undefined) return [path]
    throw error
  }
}

// The second value is the distance between the calls at which it is killed.
test.for([
  ['unlinkat', rounds(12, 1)],
  ['renameat2', rounds(2, 1)],
] as const)(
  'F2 P9 after a kill at any %s of a prune, the next server completes exactly the rest',
  { timeout: LONG_MS },
  async ([call_, stride], context) => {
    let kills = 0
    for (let nth = 1; ; nth += stride) {
      const disk = new MachineDisk()
      disk.machine('young')
      disk.machine('old', { ageMs: 100 * HOUR_MS })
      disk.console('old', 'x')
      disk.upper('stray')
      mkdirSync(disk.at('images/blobs/sha256/01.tmp/tree/inner'), { recursive: true })
      for (const name of FILES.slice(0, 3))
        writeFileSync(disk.at('images/blobs/sha256/01.tmp/tree', name), '')
      const outside = (): string =>
        ['uppers/young', 'instances/young'].map((path) => fingerprint(disk.at(path))).join()
      const before = outside()
      const stateDir = tempDir()

      const server = await serveDisk(disk, stateDir, [`--inject=${call_}:signal=KILL:when=${nth}+1`])
      const answer = await server.api('system/prune', 'POST').catch(() => undefined)
      await server.end()
      expect(outside()).toBe(before)
      if (answer !== undefined) break
      kills++

      const next = await recovery(context, async () => {
        const begun = await serveDisk(disk, stateDir)
        await waitFor('the prune to complete', () => trashIn(disk).length === 0)
        return begun
      })
      const { body } = await next.api('workspaces')
      const left = body.workspaces.map(({ name }: { name: string }) => name)
      // Each workspace is either completely deleted or complete.
      expect(disk.has('uppers/old/upper.ext4')).toBe(left.includes('old'))
      await next.api('system/prune', 'POST')
      await next.end()
      expect(readdirSync(disk.at('uppers'))).toEqual(['young'])
      expect(readdirSync(disk.at('images/blobs/sha256'))).toEqual([])
      expect(outside()).toBe(before)
    }
    // strace counts the calls of each thread, so only the first is certain to come.
    expect(kills).toBeGreaterThan(0)
  },
)
