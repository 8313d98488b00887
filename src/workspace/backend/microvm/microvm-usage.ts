import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { ImageStore } from '../../image/image-store.ts'
import type { BackendUsage, Bytes, UsagePart } from '../backend.ts'
import type { MachineFiles } from './machine-files.ts'

/** Linux and macOS count blocks in 512-byte units whatever a file system's own size is. */
const BLOCK_BYTES = 512

/** What machines take on disk; the image that several share is counted once, among the images. */
export async function readMachineUsage(files: MachineFiles, images: ImageStore): Promise<BackendUsage> {
  const notes: string[] = []
  const { images: stored } = await images.list()
  const imageUsage = []
  for (const { digest, directory, tags, reading } of stored) {
    if (reading.is === 'absent') continue
    const parts = ['rootfs.ext4', 'kernel', 'initrd', 'manifest.json'].map((name) =>
      sizeOf(join(directory, name)),
    )
    const size = sum((await Promise.all(parts)).filter((each) => each !== undefined))
    imageUsage.push({ name: tags[0]?.tag ?? digest, path: directory, size })
  }
  const workspaces = new Map<string, readonly UsagePart[]>()
  for (const { key, reading } of await files.list()) {
    if (reading.is !== 'known') notes.push(`${files.instanceOf(key)}: metadata.json cannot be read`)
    const name = reading.is === 'known' ? reading.record.name : key
    const parts: UsagePart[] = []
    for (const [kind, path] of [
      ['rootfs', files.upperOf(key)],
      ['console_log', files.consoleOf(key)],
      ['metadata', join(files.instanceOf(key), 'metadata.json')],
    ] as const) {
      const size = await sizeOf(path)
      if (size !== undefined) parts.push({ kind, path, size })
      else if (basename(path) === 'upper.ext4') notes.push(`${path} is not there`)
    }
    workspaces.set(name, parts)
  }
  return { images: imageUsage, workspaces, notes }
}

async function sizeOf(path: string): Promise<Bytes | undefined> {
  try {
    const { size, blocks } = await lstat(path)
    return { logicalBytes: size, physicalBytes: blocks * BLOCK_BYTES }
  } catch {
    return undefined
  }
}

function sum(sizes: readonly Bytes[]): Bytes {
  return {
    logicalBytes: sizes.reduce((total, { logicalBytes }) => total + logicalBytes, 0),
    physicalBytes: sizes.reduce((total, { physicalBytes }) => total + physicalBytes, 0),
  }
}
