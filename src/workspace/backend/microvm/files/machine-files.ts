import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../lib/errors/message.ts'
import { copySparse } from '../../../../lib/fs/copy-sparse.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { syncDirectory, writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { fault } from '../../../errors.ts'
import { CREATING, creationMark } from './creating-mark.ts'
import { keyOf, readKeys, removeOwnFiles } from './record-files.ts'
import { type Metadata, type MetadataReading, readMetadata } from './metadata.ts'

const METADATA = 'metadata.json'
const UPPER = 'upper.ext4'
/** The next upper, until it replaces the current one. */
const NEXT_UPPER = 'next.ext4'
const MEMORY = 'memory'
/**
 * Every file that is ever created in a VM's two directories, and hence every file that is ever removed from
 * them.
 */
const INSTANCE_FILES = [METADATA, CREATING, MEMORY, 'console.log', 'monitor.log'] as const
const UPPER_FILES = [UPPER, NEXT_UPPER, CREATING] as const

/**
 * The files of VMs below one root: `instances/NAME` and `uppers/NAME`, NAME in lower case. Paths consist only
 * of the root and a validated name (threat P2).
 */
export class MachineFiles {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  instanceOf(name: string): string {
    return join(this.root, 'instances', keyOf(name))
  }

  upperOf(name: string): string {
    return join(this.#upperDirectoryOf(name), UPPER)
  }

  consoleOf(name: string): string {
    return join(this.instanceOf(name), 'console.log')
  }

  /** Returns the file of a suspended VM's memory. */
  memoryOf(name: string): string {
    return join(this.instanceOf(name), MEMORY)
  }

  monitorLogOf(name: string): string {
    return join(this.instanceOf(name), 'monitor.log')
  }

  /** Returns the file of the guest's console, which some monitors print as their own output. */
  guestConsoleOf(name: string, goesTo: 'appended' | 'overwritten' | 'output'): string {
    return goesTo === 'output' ? this.monitorLogOf(name) : this.consoleOf(name)
  }

  /** Lists every VM that has files, by directory name; one that is being renamed by its new name. */
  async list(): Promise<readonly { readonly key: string; readonly reading: MetadataReading }[]> {
    const keys = await readKeys(join(this.root, 'instances'))
    const all = await Promise.all(keys.map(async (key) => ({ key, reading: await this.read(key) })))
    const renamed = all.flatMap(({ reading }) =>
      reading.is === 'valid' && reading.record.renamedFrom !== undefined
        ? [keyOf(reading.record.renamedFrom)]
        : [],
    )
    return all.filter(({ key }) => !renamed.includes(key))
  }

  /**
   * Reads a VM's metadata. A directory without metadata is an interrupted creation, which its creator rolls
   * back.
   */
  read(name: string): Promise<MetadataReading> {
    return readMetadata(join(this.instanceOf(name), METADATA), keyOf(name))
  }

  /** Returns the metadata of a VM that must exist. @throws BACKEND_ERROR when it is absent or unreadable */
  async get(name: string): Promise<Metadata> {
    const reading = await this.read(name)
    if (reading.is === 'valid') return reading.record
    throw fault(
      'BACKEND_ERROR',
      reading.is === 'absent'
        ? `the files of workspace "${name}" no longer exist`
        : `metadata.json of "${name}" is unreadable (${reading.why}); restore it, or delete the workspace`,
    )
  }

  /** Writes a VM's metadata. @throws BACKEND_ERROR when the file cannot be written */
  async write(metadata: Metadata): Promise<void> {
    try {
      const file = join(this.instanceOf(metadata.name), METADATA)
      await writeFileDurable(file, `${JSON.stringify(metadata, null, 2)}\n`, { mode: 0o600 })
    } catch (error) {
      throw fault(
        'BACKEND_ERROR',
        `metadata.json of workspace "${metadata.name}" cannot be written: ${messageOf(error)}`,
        error,
      )
    }
  }

  /**
   * Creates the directories and marks them as being created, so that an interrupted creation is not mistaken
   * for data loss.
   */
  async begin(name: string): Promise<void> {
    for (const directory of [this.instanceOf(name), this.#upperDirectoryOf(name)]) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFileDurable(join(directory, CREATING), await creationMark(), { mode: 0o600 })
    }
    for (const parent of ['instances', 'uppers']) await syncDirectory(join(this.root, parent))
  }

  async end(name: string): Promise<void> {
    for (const directory of [this.instanceOf(name), this.#upperDirectoryOf(name)]) {
      await unlink(join(directory, CREATING)).catch(ignoreMissing)
      await syncDirectory(directory)
    }
  }

  /**
   * Gives a stopped VM another name. The first write decides: before it, the VM has its old name with all files, and after
   * it the new one. `finishRename` continues an interrupted one.
   *
   * @throws WORKSPACE_ALREADY_EXISTS when files with the new name exist
   */
  async rename(metadata: Metadata, to: string): Promise<Metadata> {
    if (keyOf(metadata.name) === keyOf(to)) {
      const renamed = { ...metadata, name: to }
      await this.write(renamed)
      return renamed
    }
    const isTaken = (await this.read(to)).is !== 'absent'
    if (isTaken || (await lstat(this.#upperDirectoryOf(to)).catch(ignoreMissing)) !== undefined)
      throw fault('WORKSPACE_ALREADY_EXISTS', `files of a workspace "${to}" exist; choose another name`)
    await mkdir(this.instanceOf(to), { recursive: true, mode: 0o700 })
    await syncDirectory(join(this.root, 'instances'))
    const begun = { ...metadata, name: to, renamedFrom: metadata.name }
    await this.write(begun)
    return this.finishRename(begun)
  }

  /** Completes a rename whose metadata has been written; each step may have been done before. */
  async finishRename({ renamedFrom: from, ...metadata }: Metadata): Promise<Metadata> {
    if (from === undefined) return metadata
    const { name } = metadata
    await rename(this.#upperDirectoryOf(from), this.#upperDirectoryOf(name)).catch(ignoreMissing)
    await syncDirectory(join(this.root, 'uppers'))
    await rename(this.consoleOf(from), this.consoleOf(name)).catch(ignoreMissing)
    await rename(this.monitorLogOf(from), this.monitorLogOf(name)).catch(ignoreMissing)
    await this.removeInstance(from)
    await this.write(metadata)
    return metadata
  }

  /** Creates an upper of the given size, entirely sparse. An existing one is emptied. */
  async makeUpper(name: string, bytes: number): Promise<void> {
    const flags = constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | constants.O_NOFOLLOW
    const file = await open(this.upperOf(name), flags, 0o600)
    try {
      await file.truncate(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await syncDirectory(this.#upperDirectoryOf(name))
  }

  /** Creates an upper as a copy of another. Rejects when that fails; a partial copy stays. */
  async copyUpper(from: string, name: string, signal: AbortSignal): Promise<void> {
    await copySparse(from, this.upperOf(name), signal)
    await syncDirectory(this.#upperDirectoryOf(name))
  }

  /** Returns the file of an upper that is about to replace a VM's own. */
  nextUpperOf(name: string): string {
    return join(this.#upperDirectoryOf(name), NEXT_UPPER)
  }

  /** Replaces a VM's upper with the next one, which has been flushed, in one step. */
  async replaceUpper(name: string): Promise<void> {
    await rename(this.nextUpperOf(name), this.upperOf(name))
    await syncDirectory(this.#upperDirectoryOf(name))
  }

  async removeNextUpper(name: string): Promise<void> {
    await unlink(this.nextUpperOf(name)).catch(ignoreMissing)
  }

  /** Returns whether an upper exists. Rejects when that cannot be determined. */
  async hasUpper(name: string): Promise<boolean> {
    const stat = await lstat(this.upperOf(name)).catch(ignoreMissing)
    return stat?.isFile() ?? false
  }

  async removeUpper(name: string): Promise<void> {
    await removeOwnFiles(this.#upperDirectoryOf(name), UPPER_FILES)
  }

  async removeInstance(name: string): Promise<void> {
    await removeOwnFiles(this.instanceOf(name), INSTANCE_FILES)
  }

  /** Returns when a VM's metadata was last written, which happens at every start and stop. */
  async changedAt(name: string): Promise<Date> {
    return (await lstat(join(this.instanceOf(name), METADATA))).mtime
  }

  /** Returns the size of a VM's memory file; undefined when there is none. */
  async memoryBytes(name: string): Promise<number | undefined> {
    return (await lstat(this.memoryOf(name)).catch(ignoreMissing))?.size
  }

  async removeMemory(name: string): Promise<void> {
    await unlink(this.memoryOf(name)).catch(ignoreMissing)
  }

  /** Removes only the logs: the metadata identifies the upper. */
  async removeLogs(name: string): Promise<void> {
    for (const file of [this.consoleOf(name), this.monitorLogOf(name)])
      await unlink(file).catch(ignoreMissing)
  }

  #upperDirectoryOf(name: string): string {
    return join(this.root, 'uppers', keyOf(name))
  }
}
