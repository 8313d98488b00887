import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { syncDirectory, writeFileDurable } from '../../../lib/fs/write-durable.ts'
import { fault } from '../../errors.ts'
import { isWorkspaceName, nameKey } from '../../lifecycle/name.ts'
import { type Metadata, type MetadataReading, parseMetadata } from './metadata.ts'

const METADATA = 'metadata.json'
const CREATING = '.creating'
const UPPER = 'upper.ext4'
/** Everything that is ever made in a machine's two directories, and so all that is ever removed from them. */
const INSTANCE_FILES = [METADATA, CREATING, 'console.log', 'monitor.log'] as const
const UPPER_FILES = [UPPER, CREATING] as const
/** Larger ones are none of ours. */
const MAX_METADATA_BYTES = 4 * 1024 * 1024

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

  /** Every machine that there is anything of, by its directory's name. */
  async list(): Promise<readonly { readonly key: string; readonly reading: MetadataReading }[]> {
    const entries = await readdir(join(this.root, 'instances')).catch(ignoreMissing)
    const keys = (entries ?? []).filter((key) => isWorkspaceName(key) && key === nameKey(key))
    return Promise.all(keys.map(async (key) => ({ key, reading: await this.read(key) })))
  }

  async read(name: string): Promise<MetadataReading> {
    const directory = this.instanceOf(name)
    try {
      const text = await readSmallFile(join(directory, METADATA))
      return parseMetadata(text, keyOf(name))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT') return { is: 'unreadable', why: messageOf(error) }
    }
    // A directory without it is one whose making was cut short, and that is undone by whoever made it.
    return { is: 'absent' }
  }

  /** Throws BACKEND_ERROR. */
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
      await writeFileDurable(join(directory, CREATING), '', { mode: 0o600 })
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

  /** Logs alone: what is left says whose the upper is. */
  async removeLogs(name: string): Promise<void> {
    for (const file of [this.consoleOf(name), this.monitorLogOf(name)])
      await unlink(file).catch(ignoreMissing)
  }
}

function keyOf(name: string): string {
  if (!isWorkspaceName(name)) throw new Error(`${JSON.stringify(name)} is no workspace's name`)
  return nameKey(name)
}

async function readSmallFile(path: string): Promise<string> {
  const stat = await lstat(path)
  if (!stat.isFile()) throw new Error(`${path} is no file`)
  if (stat.size > MAX_METADATA_BYTES) throw new Error(`${path} is larger than the server writes it`)
  return readFile(path, 'utf8')
}

/**
 * Removes a directory and the files that belong in it, and no others: what else someone put there keeps it, and is told. A link
 * in a directory's place is not followed.
 */
async function removeKnown(directory: string, files: readonly string[]): Promise<void> {
  const stat = await lstat(directory).catch(ignoreMissing)
  if (stat === undefined) return
  if (!stat.isDirectory()) throw fault('BACKEND_ERROR', `${directory} is no directory: remove it by hand`)
  try {
    // A write that was cut short leaves its temporary file.
    const leftovers = (await readdir(directory)).filter((name) =>
      /^metadata\.json\.[0-9a-f]{12}\.tmp$/.test(name),
    )
    for (const name of [...files, ...leftovers]) await unlink(join(directory, name)).catch(ignoreMissing)
    await rmdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    const why = code === 'ENOTEMPTY' ? 'it holds files that are not the server’s' : messageOf(error)
    throw fault('BACKEND_ERROR', `${directory} cannot be removed: ${why}; remove it by hand`, error)
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
