import { randomBytes } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { copySparse } from '../../../lib/fs/copy-sparse.ts'
import { fault } from '../../errors.ts'
import {
  byAge,
  type Checkpoint,
  type CheckpointOwner,
  type Checkpoints,
  type NewCheckpoint,
} from '../checkpoint.ts'
import type { Metadata } from './files/metadata.ts'
import { SnapshotFiles } from './files/snapshot-files.ts'
import type { SnapshotRecord } from './files/snapshot-record.ts'
import type { MachineForks, MachineForksOptions } from './machine-forks.ts'
import type { MachineRunner } from './machine-runner.ts'

/** Dependencies of MachineCheckpoints. */
export interface MachineCheckpointsOptions extends Omit<MachineForksOptions, 'runner'> {
  readonly forks: Pick<MachineForks, 'copy'>
  readonly runner: () => Pick<MachineRunner, 'killRemains'>
}

/**
 * Checkpoints of VMs: copies of their disks as forks make them, in directories named after the id of the VM, which a rename
 * does not change.
 */
export class MachineCheckpoints implements Checkpoints {
  readonly #options: MachineCheckpointsOptions
  readonly #files: SnapshotFiles

  constructor(options: MachineCheckpointsOptions) {
    this.#options = options
    this.#files = new SnapshotFiles(options.machines.root, 'checkpoints')
  }

  async list({ name }: CheckpointOwner): Promise<readonly Checkpoint[]> {
    const reading = await this.#options.machines.read(name)
    if (reading.is !== 'valid') return []
    const prefix = prefixOf(reading.record)
    const found = (await this.#files.list(prefix)).map(async ({ key, reading: { is, ...rest } }) =>
      is === 'valid' && 'record' in rest
        ? [describe(key.slice(prefix.length), rest.record, await this.#files.sizeOf(key))]
        : [],
    )
    return (await Promise.all(found)).flat().toSorted(byAge)
  }

  async take(
    { name }: CheckpointOwner,
    { createdAt, reason, label }: NewCheckpoint,
    signal: AbortSignal,
  ): Promise<Checkpoint> {
    const { exclusively, driver, isRunning, forks } = this.#options
    return exclusively(name, async (metadata) => {
      if (metadata.localDir !== '')
        throw unsupported(name, `its files are in ${metadata.localDir}, which a checkpoint would not include`)
      if (driver.memory === undefined && (await isRunning(metadata)))
        throw unsupported(name, `it is running, and ${driver.name} cannot pause it; stop it first`)
      const id = randomBytes(8).toString('hex')
      const key = prefixOf(metadata) + id
      try {
        const target = { files: this.#files, facts: { name: key, createdAt, comment: label, reason } }
        await forks.copy(metadata, target, { children: 0, memory: false }, signal)
      } catch (error) {
        await this.#files.remove(key).catch(ignore('the next start removes what stays'))
        throw error
      }
      return { id, createdAt, reason, label, sizeBytes: await this.#files.sizeOf(key) }
    })
  }

  async restore({ name }: CheckpointOwner, id: string, signal: AbortSignal): Promise<void> {
    const { machines, exclusively, runner } = this.#options
    await exclusively(name, async (metadata) => {
      const key = prefixOf(metadata) + id
      const { isFormatted, upperBytes } = await this.#read(key)
      await runner().killRemains(metadata)
      await machines.removeNextUpper(name)
      try {
        await copySparse(this.#files.upperOf(key), machines.nextUpperOf(name), signal)
        // Before the disk changes, because memory must never be loaded on another one. A VM that may be formatted
        // formats only an empty disk.
        await machines.write({
          ...metadata,
          isFormatted: metadata.isFormatted && isFormatted,
          upperBytes,
          run: null,
          failure: '',
          memory: null,
        })
        await machines.removeMemory(name)
        await machines.replaceUpper(name)
      } catch (error) {
        await machines.removeNextUpper(name).catch(ignore('the next start removes it'))
        signal.throwIfAborted()
        throw fault('BACKEND_ERROR', `the disk of "${name}" cannot be put back: ${messageOf(error)}`, error)
      }
    })
  }

  async isCurrent({ name }: CheckpointOwner, id: string): Promise<boolean> {
    const { machines } = this.#options
    const takenAt = await this.#files.writtenAt(prefixOf(await machines.get(name)) + id)
    const { mtime } = await lstat(machines.upperOf(name))
    return takenAt !== undefined && mtime < takenAt
  }

  async originOf({ name }: CheckpointOwner, id: string): Promise<string> {
    return prefixOf(await this.#options.machines.get(name)) + id
  }

  async remove({ name }: CheckpointOwner, id: string): Promise<void> {
    const { machines } = this.#options
    await this.#files.remove(prefixOf(await machines.get(name)) + id)
  }

  /** Removes all checkpoints of a VM that is being deleted. */
  async removeAll(metadata: Metadata): Promise<void> {
    for (const { key } of await this.#files.list(prefixOf(metadata))) await this.#files.remove(key)
  }

  /** Whether an earlier server was killed while it copied a VM, which may still be paused. */
  async hasLeftovers(): Promise<boolean> {
    return (await this.#files.list()).some(({ reading }) => reading.is === 'absent')
  }

  /** Removes incomplete checkpoints that an earlier server left. */
  async clear(): Promise<void> {
    for (const { key, reading } of await this.#files.list())
      if (reading.is === 'absent') await this.#files.remove(key)
  }

  async #read(key: string): Promise<SnapshotRecord> {
    const reading = await this.#files.read(key)
    if (reading.is === 'valid') return reading.record
    const why =
      reading.is === 'absent' ? 'it no longer exists' : `its snapshot.json is unreadable (${reading.why})`
    throw fault('BACKEND_ERROR', `checkpoint "${key}" cannot be used: ${why}`)
  }
}

/** Returns the beginning of the directory names of a VM's checkpoints. */
function prefixOf({ id }: Metadata): string {
  return `${id}-`
}

function describe(
  id: string,
  { createdAt, reason = 'manual', comment }: SnapshotRecord,
  sizeBytes: number,
): Checkpoint {
  return { id, createdAt: new Date(createdAt), reason, label: comment, sizeBytes }
}

function unsupported(name: string, why: string) {
  return fault('CHECKPOINT_UNSUPPORTED', `workspace "${name}" cannot have checkpoints: ${why}`)
}
