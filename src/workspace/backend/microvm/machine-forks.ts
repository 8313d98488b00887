import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { cloneFile, copySparse } from '../../../lib/fs/copy-sparse.ts'
import { fault } from '../../errors.ts'
import type { ExecProcess, ExecRequest } from '../backend.ts'
import type { ForkOrigin, Forks } from '../fork.ts'
import type { Driver } from './driver.ts'
import { checkSpace } from './files/check-space.ts'
import type { MachineFiles } from './files/machine-files.ts'
import type { Metadata } from './files/metadata.ts'
import { SnapshotFiles } from './files/snapshot-files.ts'
import { recordOf, type SnapshotRecord } from './files/snapshot-record.ts'

/** The guest writes its files to the disk in this time, or the copy is without the last ones. */
const SYNC_MS = 10_000

/** Dependencies of MachineForks. */
export interface MachineForksOptions {
  readonly machines: MachineFiles
  readonly driver: Driver
  readonly socketDirOf: (id: string) => string
  readonly exec: (name: string, request: ExecRequest) => Promise<ExecProcess>
  /** Runs work on a VM's metadata while nothing else changes the VM. */
  readonly exclusively: <T>(name: string, work: (metadata: Metadata) => Promise<T>) => Promise<T>
  readonly isRunning: (metadata: Metadata) => Promise<boolean>
  /** Sets the clock of a VM that was paused. */
  readonly setClock: (metadata: Metadata) => Promise<void>
}

/** Forks of VMs: copies of their disks, without memory. A copy shares its blocks where the file system can. */
export class MachineForks implements Forks {
  readonly #options: MachineForksOptions
  readonly #files: SnapshotFiles

  constructor(options: MachineForksOptions) {
    this.#options = options
    this.#files = new SnapshotFiles(options.machines.root, 'forks')
  }

  async take(name: string, children: number, signal: AbortSignal): Promise<ForkOrigin> {
    const id = randomBytes(8).toString('hex')
    try {
      return await this.#options.exclusively(name, async (metadata) => ({
        id,
        pausedMs: await this.#copy(metadata, id, children, signal),
      }))
    } catch (error) {
      await this.release(id).catch(() => undefined)
      throw error
    }
  }

  /** Returns the record of a copy. @throws BACKEND_ERROR when it no longer exists */
  async read(id: string): Promise<SnapshotRecord> {
    const reading = await this.#files.read(id)
    if (reading.is === 'valid') return reading.record
    throw fault('BACKEND_ERROR', 'the copy of the forked workspace no longer exists; fork it again')
  }

  /** Copies the disk for a fork that is being created. @throws BACKEND_ERROR when that fails */
  async restore(id: string, name: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.machines.copyUpper(this.#files.upperOf(id), name, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the disk of "${name}" cannot be copied: ${messageOf(error)}`, error)
    }
  }

  async release(id: string): Promise<void> {
    await this.#files.remove(id)
  }

  /** Whether an earlier server was killed while it copied a VM, which may still be paused. */
  async hasLeftovers(): Promise<boolean> {
    return (await this.#files.list()).length > 0
  }

  /** Lets a running VM continue that an earlier server left paused. */
  async unpause({ id }: Metadata): Promise<void> {
    await this.#options.driver.memory?.unpause({ socketDir: this.#options.socketDirOf(id) })
  }

  /** Removes copies that an earlier server left. */
  async clear(): Promise<void> {
    for (const { key } of await this.#files.list()) await this.release(key)
  }

  /** Copies a disk, while its VM is paused if it is running. Returns for how many milliseconds it was. */
  async #copy(metadata: Metadata, id: string, children: number, signal: AbortSignal): Promise<number> {
    const { machines, driver, isRunning, setClock, socketDirOf } = this.#options
    const { name } = metadata
    const from = machines.upperOf(name)
    const { memory } = driver
    const at = { socketDir: socketDirOf(metadata.id) }
    const runs = await isRunning(metadata)
    if (runs && memory === undefined)
      throw fault(
        'FORK_UNSUPPORTED',
        `workspace "${name}" cannot be forked while it is running, because ${driver.name} cannot pause it; stop it first`,
      )
    if (runs) await this.#syncGuest(name)
    let pausedMs = 0
    const record = recordOf(metadata, { name: id, createdAt: new Date(), comment: '' })
    try {
      await syncFile(from)
      await this.#files.write(record, async (to) => {
        if (!runs || memory === undefined) return copyDisk(from, to, children, signal)
        const sinceMs = performance.now()
        try {
          await memory.pause(at)
          await copyDisk(from, to, children, signal)
        } finally {
          await memory.unpause(at)
          pausedMs = Math.round(performance.now() - sinceMs)
        }
      })
    } catch (error) {
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the disk of "${name}" cannot be copied: ${messageOf(error)}`, error)
    }
    // The clock of a paused guest may have stopped. Its agent may be hostile, and need not answer.
    if (runs) void setClock(metadata).catch(() => undefined)
    return pausedMs
  }

  /** Asks the guest to write its files to the disk. A guest that does not is copied as after a power failure. */
  async #syncGuest(name: string): Promise<void> {
    const end = new AbortController()
    try {
      const process = await this.#options.exec(name, { argv: ['sync'], stdin: false })
      for (const stream of [process.stdout, process.stderr]) stream.resume()
      const late = delay(SYNC_MS, 'late', { signal: end.signal })
      if ((await Promise.race([process.exitStatus, late])) === 'late') await process.hangUp()
    } catch {
      // Not running any more, or without an agent.
    } finally {
      end.abort()
    }
  }
}

/** Copies a disk by sharing its blocks, or else its content. @throws BACKEND_ERROR when the copies do not fit */
async function copyDisk(from: string, to: string, children: number, signal: AbortSignal): Promise<void> {
  if (await cloneFile(from, to)) return
  await checkSpace(from, children + 1)
  await copySparse(from, to, signal)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
