import { constants } from 'node:fs'
import { lstat, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../lib/errors/message.ts'
import { copySparse } from '../../../../lib/fs/copy-sparse.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { syncDirectory, writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { fault } from '../../../errors.ts'
import { CREATING, creationMark } from './creating-mark.ts'
import { keyOf, readKeys, removeKnown } from './known-files.ts'
import { type Metadata, type MetadataReading, readMetadata } from './metadata.ts'

const METADATA = 'metadata.json'
const UPPER = 'upper.ext4'
/** Everything that is ever made in a machine's two directories, and so all that is ever removed from them. */
const INSTANCE_FILES = [METADATA, CREATING, 'console.log', 'monitor.log'] as const
const UPPER_FILES = [UPPER, CREATING] as const

/**
 * The files of machines below one root: `instances/NAME` and `uppers/NAME`, NAME in lower case. Paths are made of the root and a
 * checked name and of nothing else (threat P2).
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
    return join(this.root, 'uppers', keyOf(name), UPPER)
  }

  consoleOf(name: string): string {
    return join(this.instanceOf(name), 'console.log')
  }

  monitorLogOf(name: string): string {
    return join(this.instanceOf(name), 'monitor.log')
  }

  /** Where the guest's console is printed: a monitor may print it as its own output. */
  guestConsoleOf(name: string, goesTo: 'appended' | 'overwritten' | 'output'): string {
    return goesTo === 'output' ? this.monitorLogOf(name) : this.consoleOf(name)
  }

  /** Every machine that there is anything of, by its directory's name. */
  async list(): Promise<readonly { readonly key: string; readonly reading: MetadataReading }[]> {
    const keys = await readKeys(join(this.root, 'instances'))
    return Promise.all(keys.map(async (key) => ({ key, reading: await this.read(key) })))
  }

  /** A directory without it is one whose making was cut short, and that is undone by whoever made it. */
  read(name: string): Promise<MetadataReading> {
    return readMetadata(join(this.instanceOf(name), METADATA), keyOf(name))
  }

  /** What is known of a machine that must be there. @throws BACKEND_ERROR */
  async get(name: string): Promise<Metadata> {
    const reading = await this.read(name)
    if (reading.is === 'known') return reading.record
    throw fault(
      'BACKEND_ERROR',
      reading.is === 'absent'
        ? `the files of workspace "${name}" are gone`
        : `metadata.json of "${name}" cannot be used (${reading.why}): restore it, or delete the workspace`,
    )
  }

  /** @throws BACKEND_ERROR */
  async write(metadata: Metadata): Promise<void> {
    try {
      const file = join(this.instanceOf(metadata.name), METADATA)
      await writeFileDurable(file, `${JSON.stringify(metadata, null, 2)}\n`, { mode: 0o600 })
    } catch (error) {
      throw fault(
        'BACKEND_ERROR',
        `what is known of workspace "${metadata.name}" cannot be written: ${messageOf(error)}`,
        error,
      )
    }
  }

  /** Makes the directories, marked as being made: what a crash leaves is then told from what is lost. */
  async begin(name: string): Promise<void> {
    for (const directory of [this.instanceOf(name), join(this.root, 'uppers', keyOf(name))]) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFileDurable(join(directory, CREATING), await creationMark(), { mode: 0o600 })
    }
    for (const parent of ['instances', 'uppers']) await syncDirectory(join(this.root, parent))
  }

  async end(name: string): Promise<void> {
    for (const directory of [this.instanceOf(name), join(this.root, 'uppers', keyOf(name))]) {
      await unlink(join(directory, CREATING)).catch(ignoreMissing)
      await syncDirectory(directory)
    }
  }

  /** A new upper of that size, all of it a hole. One that is there is emptied. */
  async makeUpper(name: string, bytes: number): Promise<void> {
    const flags = constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | constants.O_NOFOLLOW
    const file = await open(this.upperOf(name), flags, 0o600)
    try {
      await file.truncate(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await syncDirectory(join(this.root, 'uppers', keyOf(name)))
  }

  /** An upper that is a copy of another's. Rejects when it cannot be made; what is begun stays. */
  async copyUpper(from: string, name: string, signal: AbortSignal): Promise<void> {
    await copySparse(from, this.upperOf(name), signal)
    await syncDirectory(join(this.root, 'uppers', keyOf(name)))
  }

  /** Whether there is an upper; throws when that cannot be told. */
  async hasUpper(name: string): Promise<boolean> {
    const stat = await lstat(this.upperOf(name)).catch(ignoreMissing)
    return stat?.isFile() ?? false
  }

  async removeUpper(name: string): Promise<void> {
    await removeKnown(join(this.root, 'uppers', keyOf(name)), UPPER_FILES)
  }

  async removeInstance(name: string): Promise<void> {
    await removeKnown(this.instanceOf(name), INSTANCE_FILES)
  }

  /** When what is known of a machine was last written down: with every start and stop. */
  async changedAt(name: string): Promise<Date> {
    return (await lstat(join(this.instanceOf(name), METADATA))).mtime
  }

  /** Logs alone: what is left says whose the upper is. */
  async removeLogs(name: string): Promise<void> {
    for (const file of [this.consoleOf(name), this.monitorLogOf(name)])
      await unlink(file).catch(ignoreMissing)
  }
}
