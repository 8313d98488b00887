import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import type { ImageStore } from '../../image/image-store.ts'
import type { BackendUsage, ImagePart, UsagePart } from '../backend.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { readKeys } from './files/record-files.ts'

/** A complete snapshot has this file. */
export const SNAPSHOT_FILE = 'snapshot.json'

/** Returns the disk usage of VMs; a shared image counts once, among the images. */
export async function readMachineUsage(files: MachineFiles, images: ImageStore): Promise<BackendUsage> {
  const notes: string[] = []
  const { images: stored } = await images.list()
  const imageParts = stored
    .filter(({ reading }) => reading.is !== 'absent')
    .map(({ digest, directory, tags }) => {
      const [tag] = tags
      return { name: tag?.tag ?? digest, path: directory, dockerRef: tag?.dockerRef ?? '' }
    })
  const workspaces = new Map<string, readonly UsagePart[]>()
  const checkpoints = await readKeys(join(files.root, 'checkpoints'))
  for (const { key, reading } of await files.list()) {
    if (reading.is === 'unreadable')
      notes.push(`${files.instanceOf(key)}: metadata.json is unreadable (${reading.why})`)
    const name = reading.is === 'valid' ? reading.record.name : key
    const all = [
      { kind: 'rootfs', path: files.upperOf(key) },
      { kind: 'console_log', path: files.consoleOf(key) },
      { kind: 'memory', path: files.memoryOf(key) },
      { kind: 'metadata', path: join(files.instanceOf(key), 'metadata.json') },
      { kind: 'metadata', path: files.monitorLogOf(key) },
    ] as const
    const there = await Promise.all(all.map(({ path }) => isThere(path)))
    if (reading.is === 'valid' && there[0] === false) notes.push(`${files.upperOf(key)} is missing`)
    const own =
      reading.is === 'valid' ? checkpoints.filter((each) => each.startsWith(`${reading.record.id}-`)) : []
    const copies = own.map(
      (each) => ({ kind: 'checkpoint', path: join(files.root, 'checkpoints', each) }) as const,
    )
    workspaces.set(name, [...all.filter((_, i) => there[i]), ...copies])
  }
  return { images: imageParts, workspaces, snapshots: await readSnapshots(files.root, notes), notes }
}

async function readSnapshots(root: string, notes: string[]): Promise<readonly ImagePart[]> {
  const directory = join(root, 'snapshots')
  try {
    const names = (await readdir(directory)).filter((name) => !name.startsWith('.') && !name.endsWith('.tmp'))
    const whole = await Promise.all(names.map((name) => isThere(join(directory, name, SNAPSHOT_FILE))))
    return names
      .filter((_, i) => whole[i])
      .map((name) => ({ name, path: join(directory, name), dockerRef: '' }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      notes.push(`${directory}: not measured (${messageOf(error)})`)
    return []
  }
}

/**
 * Returns whether a path exists. A path that cannot be checked counts as existing: measuring it will report
 * why.
 */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ENOENT' && code !== 'ENOTDIR'
  }
}
