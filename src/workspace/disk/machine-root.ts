import { join } from 'node:path'
import type { TrashLocation } from '../../lib/fs/trash.ts'
import { MachineFiles } from '../backend/microvm/files/machine-files.ts'
import type { ImageBackend } from '../image/image-backend.ts'
import type { ImageStore } from '../image/image-store.ts'

/** Directories and images of a VM backend. */
export interface MachineRoot {
  readonly backend: ImageBackend
  readonly root: string
  readonly images: ImageStore
}

/** Returns the directories of a root in which remains can accumulate. */
export function leftoverDirectories({ root, images }: MachineRoot): readonly TrashLocation[] {
  const places = [
    images.blobDirectory,
    { root: images.root, parent: 'tags' },
    { root: images.root, parent: '.' },
    { root, parent: 'uppers' },
    { root, parent: 'instances' },
    { root, parent: 'snapshots' },
    { root, parent: 'forks' },
    { root, parent: 'checkpoints' },
    { root, parent: '.' },
  ]
  const byPath = new Map(places.map((place) => [join(place.root, place.parent), place]))
  return [...byPath.values()]
}

/**
 * Runs work on the remains of deletions in one of those directories, while no deletion that may be undone is
 * in progress: the image store restores an image that a workspace requests in the meantime.
 */
export function whileNoDeletion<T>(
  { images }: MachineRoot,
  place: TrashLocation,
  work: () => Promise<T>,
): Promise<T> {
  const { root, parent } = images.blobDirectory
  return place.root === root && place.parent === parent ? images.exclusively(work) : work()
}

/** Returns the VM files below a root. */
export function filesOf({ root }: MachineRoot): MachineFiles {
  return new MachineFiles(root)
}
