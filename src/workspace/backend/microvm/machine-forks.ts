import { randomBytes } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { cloneFile, copySparse } from '../../../lib/fs/copy-sparse.ts'
import { syncFile } from '../../../lib/fs/write-durable.ts'
import { fault } from '../../errors.ts'
import type { ExecProcess, ExecRequest } from '../backend.ts'
import type { ForkCopy, ForkOrigin, Forks } from '../fork.ts'
import type { Driver } from './driver.ts'
import { checkSpace } from './files/check-space.ts'
import type { MachineFiles } from './files/machine-files.ts'
import type { Metadata, SavedMemory } from './files/metadata.ts'
import { type MachineRunner, mostMemoryBytes } from './machine-runner.ts'
import { SnapshotFiles } from './files/snapshot-files.ts'
import { recordOf, type SnapshotFacts, type SnapshotRecord } from './files/snapshot-record.ts'

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
  readonly runner: () => Pick<MachineRunner, 'freeze' | 'setClock'>
}

/** Where to copy a VM, and the facts of the copy. */
export interface CopyTarget {
  readonly files: SnapshotFiles
  readonly facts: SnapshotFacts
}

/** Forks of VMs: copies of their disks and their memory. A copy shares its blocks where the file system can. */
export class MachineForks implements Forks {
  readonly #options: MachineForksOptions
  readonly #files: SnapshotFiles
  readonly #checkpoints: SnapshotFiles

  constructor(options: MachineForksOptions) {
    this.#options = options
    this.#files = new SnapshotFiles(options.machines.root, 'forks')
    this.#checkpoints = new SnapshotFiles(options.machines.root, 'checkpoints')
  }

  async take(name: string, copy: ForkCopy, signal: AbortSignal): Promise<ForkOrigin> {
    const id = randomBytes(8).toString('hex')
    try {
      return await this.#options.exclusively(name, async (metadata) => ({
        id,
        ...(await this.copy(metadata, this.#targetOf(id), copy, signal)),
      }))
    } catch (error) {
      await this.release(id).catch(ignore('the next start removes what stays'))
      throw error
    }
  }

  /** Returns the record of a copy, or of a checkpoint. @throws BACKEND_ERROR when it no longer exists */
  async read(id: string): Promise<SnapshotRecord> {
    const reading = await this.#filesOf(id).read(id)
    if (reading.is === 'valid') return reading.record
    throw fault('BACKEND_ERROR', 'the copy of the forked workspace no longer exists; fork it again')
  }

  /** Copies disk and memory for a fork that is being created. @throws BACKEND_ERROR when that fails */
  async restore(id: string, name: string, signal: AbortSignal): Promise<void> {
    try {
      const { machines } = this.#options
      await machines.copyUpper(this.#filesOf(id).upperOf(id), name, signal)
      if ((await this.read(id)).memory != null)
        await copySparse(this.#files.memoryOf(id), machines.memoryOf(name), signal)
    } catch (error) {
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the files of "${name}" cannot be copied: ${messageOf(error)}`, error)
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
  async unpause(metadata: Metadata): Promise<void> {
    await this.#options.driver.memory?.unpause(this.#socketsOf(metadata))
  }

  /** Removes copies that an earlier server left. */
  async clear(): Promise<void> {
    for (const { key } of await this.#files.list()) await this.release(key)
  }

  /** Returns where a copy is: only the origins of checkpoints have a hyphen. */
  #filesOf(id: string): SnapshotFiles {
    return id.includes('-') ? this.#checkpoints : this.#files
  }

  #targetOf(id: string): CopyTarget {
    return { files: this.#files, facts: { name: id, createdAt: new Date(), comment: '' } }
  }

  /** Copies a VM, which is paused meanwhile if it is running. */
  async copy(
    metadata: Metadata,
    target: CopyTarget,
    { children, memory: wanted }: ForkCopy,
    signal: AbortSignal,
  ): Promise<Omit<ForkOrigin, 'id'>> {
    const { machines, driver, isRunning, runner } = this.#options
    const { name } = metadata
    const from = machines.upperOf(name)
    const runs = await isRunning(metadata)
    if (runs && driver.memory === undefined)
      throw fault(
        'FORK_UNSUPPORTED',
        `workspace "${name}" cannot be forked while it is running, because ${driver.name} cannot pause it; stop it first`,
      )
    const why = this.#cannotCopyMemory(metadata, runs)
    if (wanted === true && why !== undefined) throw memoryFault(name, why)
    if (runs) await this.#syncGuest(name)
    const mayHaveMemory = wanted !== false && why === undefined
    const hasMemory = mayHaveMemory && (!runs || (await this.#isFrozen(metadata, wanted === true)))
    let pausedMs = 0
    try {
      await syncFile(from)
      await target.files.write(target.facts.name, async (to) => {
        const sinceMs = performance.now()
        try {
          const memory = hasMemory ? await this.#copyMemory(metadata, runs, target, signal) : null
          if (runs && memory === null) await driver.memory?.pause(this.#socketsOf(metadata))
          await copyFile(from, to, children, signal)
          return { ...recordOf(metadata, target.facts), memory }
        } finally {
          if (runs) await driver.memory?.unpause(this.#socketsOf(metadata))
          if (runs) pausedMs = Math.round(performance.now() - sinceMs)
        }
      })
      return { pausedMs, hasMemory }
    } catch (error) {
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the disk of "${name}" cannot be copied: ${messageOf(error)}`, error)
    } finally {
      // The clock of a paused guest may have stopped.
      const isSet = runs
        ? runner().setClock(metadata).catch(ignore('its agent may be hostile, and need not answer'))
        : undefined
      if (hasMemory) await isSet
    }
  }

  /** Returns why forks cannot continue a VM's programs; undefined when they can. */
  #cannotCopyMemory({ run, localDir, memory }: Metadata, runs: boolean): string | undefined {
    const saver = this.#options.driver.memory
    if (saver === undefined) return `${this.#options.driver.name} cannot save memory`
    if (!runs) return memory == null ? 'it is stopped' : undefined
    return run === null ? 'it is stopped' : saver.cannotSave({ line: run.line, isShared: localDir !== '' })
  }

  /** Freezes the programs of a running VM, so that its forks get their identity before any of them runs. */
  async #isFrozen(metadata: Metadata, isRequired: boolean): Promise<boolean> {
    try {
      await this.#options.runner().freeze(metadata)
      return true
    } catch (error) {
      if (isRequired) throw memoryFault(metadata.name, messageOf(error))
      return false
    }
  }

  /** Copies the memory of a VM. A running one is paused by that. */
  async #copyMemory(
    metadata: Metadata,
    runs: boolean,
    { files, facts }: CopyTarget,
    signal: AbortSignal,
  ): Promise<SavedMemory> {
    const { driver, machines } = this.#options
    const path = files.memoryOf(facts.name)
    const { run, memory, name } = metadata
    if (!runs && memory != null) {
      await copyFile(machines.memoryOf(name), path, 0, signal)
      return { ...memory, copyOf: metadata.id }
    }
    if (run === null || driver.memory === undefined) throw new Error('the VM is not running')
    const at = { id: metadata.id, ...this.#socketsOf(metadata), line: run.line }
    const monitor = await driver.memory.save(at, path, mostMemoryBytes(metadata))
    const { size: bytes } = await lstat(path)
    return { monitor, bytes, agentToken: run.agentToken, copyOf: metadata.id }
  }

  #socketsOf({ id }: Metadata): { readonly socketDir: string } {
    return { socketDir: this.#options.socketDirOf(id) }
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

/**
 * Copies a file by sharing its blocks, or else its content.
 *
 * @param more how many further copies will follow
 * @throws BACKEND_ERROR when the copies do not fit
 */
async function copyFile(from: string, to: string, more: number, signal: AbortSignal): Promise<void> {
  if (await cloneFile(from, to)) return
  await checkSpace(from, more + 1)
  await copySparse(from, to, signal)
}

function memoryFault(name: string, why: string) {
  return fault('FORK_UNSUPPORTED', `workspace "${name}" cannot be forked with its memory: ${why}`)
}
