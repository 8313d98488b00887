import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { copySparse } from '../../../lib/fs/copy-sparse.ts'
import { fault } from '../../errors.ts'
import type { ImageStore } from '../../image/image-store.ts'
import type { BackendName } from '../../backend-name.ts'
import type { Snapshot, Snapshots } from '../snapshot.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { SnapshotFiles } from './files/snapshot-files.ts'
import { recordOf, type SnapshotReading, type SnapshotRecord } from './files/snapshot-record.ts'

/** Snapshots of stopped VMs: copies of their disks, without memory. */
export class MachineSnapshots implements Snapshots {
  readonly #backend: BackendName
  readonly #machines: MachineFiles
  readonly #images: Promise<ImageStore>
  readonly #files: SnapshotFiles

  constructor(backend: BackendName, machines: MachineFiles, images: Promise<ImageStore>) {
    this.#backend = backend
    this.#machines = machines
    this.#images = images
    this.#files = new SnapshotFiles(machines.root)
  }

  async list(): Promise<readonly Snapshot[]> {
    const found = await this.#files.list()
    const snapshots = await Promise.all(found.map(({ key, reading }) => this.#describe(key, reading)))
    return snapshots.filter((snapshot) => snapshot !== undefined)
  }

  async find(name: string): Promise<Snapshot | undefined> {
    return this.#describe(name, await this.#files.read(name))
  }

  async take(
    { name, workspace, comment, createdAt }: Parameters<Snapshots['take']>[0],
    signal: AbortSignal,
  ): Promise<Snapshot> {
    const reading = await this.#machines.read(workspace)
    if (reading.is !== 'valid') {
      const why = reading.is === 'absent' ? 'it no longer exists' : reading.why
      throw fault('BACKEND_ERROR', `metadata.json of "${workspace}" is unreadable: ${why}`)
    }
    try {
      await this.#files.write(name, async (to) => {
        await copySparse(this.#machines.upperOf(workspace), to, signal)
        return recordOf(reading.record, { name, createdAt, comment })
      })
    } catch (error) {
      await this.#files.remove(name).catch(ignore('it is incomplete, so it is never listed'))
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the disk of "${workspace}" cannot be copied: ${messageOf(error)}`, error)
    }
    const snapshot = await this.find(name)
    if (snapshot === undefined) throw fault('BACKEND_ERROR', `snapshot "${name}" no longer exists`)
    return snapshot
  }

  async remove(name: string): Promise<void> {
    await this.#files.remove(name)
  }

  /**
   * Returns a snapshot's record.
   *
   * @throws SNAPSHOT_NOT_FOUND when there is none
   * @throws BACKEND_ERROR when it is unreadable
   */
  async read(name: string): Promise<SnapshotRecord> {
    const reading = await this.#files.read(name)
    if (reading.is === 'valid') return reading.record
    if (reading.is === 'absent') throw fault('SNAPSHOT_NOT_FOUND', `snapshot "${name}" not found`)
    throw fault('BACKEND_ERROR', unusable(name, reading.why))
  }

  /** Copies a snapshot's disk for a VM that is being created. @throws BACKEND_ERROR when the copy fails */
  async restore(name: string, workspace: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#machines.copyUpper(this.#files.upperOf(name), workspace, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `snapshot "${name}" cannot be copied: ${messageOf(error)}`, error)
    }
  }

  async #describe(key: string, reading: SnapshotReading): Promise<Snapshot | undefined> {
    if (reading.is === 'absent') return undefined
    const sizeBytes = await this.#files.sizeOf(key)
    const common = { backend: this.#backend, sizeBytes }
    if (reading.is === 'unreadable')
      return {
        ...common,
        name: key,
        sourceWorkspace: '',
        sourceImage: '',
        lowerDigest: '',
        isLowerCached: false,
        createdAt: new Date(0),
        comment: '',
        failure: unusable(key, reading.why),
      }
    const { name, sourceWorkspace, image, digest, createdAt, comment } = reading.record
    const isLowerCached = await (await this.#images).resolve(digest).then(
      () => true,
      () => false,
    )
    return {
      ...common,
      name,
      sourceWorkspace,
      sourceImage: image,
      lowerDigest: digest,
      isLowerCached,
      createdAt: new Date(createdAt),
      comment,
      failure: '',
    }
  }
}

function unusable(name: string, why: string): string {
  return `snapshot.json of "${name}" is unreadable (${why}); restore the file, or delete the snapshot`
}
