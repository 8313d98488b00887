import { lstat, mkdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { syncDirectory, syncFile, writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { CREATING, creationMark } from './creating-mark.ts'
import { keyOf, readKeys, removeOwnFiles } from './record-files.ts'
import { readSnapshotRecord, type SnapshotReading, type SnapshotRecord } from './snapshot-record.ts'

const RECORD = 'snapshot.json'
const UPPER = 'upper.ext4'
const MEMORY = 'memory'
/** Linux and macOS report blocks in units of 512 bytes, regardless of the file system's block size. */
const BLOCK_BYTES = 512

/**
 * The files of copies of disks below one root: snapshots in `snapshots/NAME`, copies for forks in `forks/ID`, and checkpoints in
 * `checkpoints/MACHINE-ID`, in lower case (threat P2).
 */
export class SnapshotFiles {
  readonly #directory: string

  constructor(root: string, parent: 'snapshots' | 'forks' | 'checkpoints' = 'snapshots') {
    this.#directory = join(root, parent)
  }

  upperOf(name: string): string {
    return join(this.#of(name), UPPER)
  }

  /** Returns the file of the memory of a copy for forks. */
  memoryOf(name: string): string {
    return join(this.#of(name), MEMORY)
  }

  /**
   * Lists every snapshot by directory name. One without a record is an interrupted copy and not a snapshot.
   *
   * @param prefix the beginning of the directory names
   */
  async list(prefix = ''): Promise<readonly { readonly key: string; readonly reading: SnapshotReading }[]> {
    const keys = (await readKeys(this.#directory)).filter((key) => key.startsWith(prefix))
    return Promise.all(keys.map(async (key) => ({ key, reading: await this.read(key) })))
  }

  read(name: string): Promise<SnapshotReading> {
    return readSnapshotRecord(join(this.#of(name), RECORD), keyOf(name))
  }

  /** Returns the disk usage of a snapshot's upper in bytes. */
  async sizeOf(name: string): Promise<number> {
    const stat = await lstat(this.upperOf(name)).catch(ignoreMissing)
    return (stat?.blocks ?? 0) * BLOCK_BYTES
  }

  /** Returns when a snapshot was complete. */
  async writtenAt(name: string): Promise<Date | undefined> {
    return (await lstat(join(this.#of(name), RECORD)).catch(ignoreMissing))?.mtime
  }

  /**
   * Copies a disk and then writes the record, which marks the snapshot as complete. Removes an earlier
   * attempt first.
   *
   * @param copy copies the disk to a new path, and returns the record
   */
  async write(name: string, copy: (to: string) => Promise<SnapshotRecord>): Promise<void> {
    const directory = this.#of(name)
    await this.remove(name)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await syncDirectory(dirname(this.#directory))
    await syncDirectory(this.#directory)
    // Without the mark, the directory would look like the remains of a crash.
    await writeFileDurable(join(directory, CREATING), await creationMark(), { mode: 0o600 })
    const record = await copy(join(directory, UPPER))
    // Sharing blocks does not flush.
    await syncFile(join(directory, UPPER))
    const text = `${JSON.stringify(record, null, 2)}\n`
    await writeFileDurable(join(directory, RECORD), text, { mode: 0o600 })
    await unlink(join(directory, CREATING)).catch(ignoreMissing)
  }

  async remove(name: string): Promise<void> {
    await removeOwnFiles(this.#of(name), [RECORD, UPPER, MEMORY, CREATING])
  }

  #of(name: string): string {
    return join(this.#directory, keyOf(name))
  }
}
