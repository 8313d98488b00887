import { join } from 'node:path'
import type { TrashLocation } from '../../lib/fs/trash.ts'
import { MachineFiles } from '../backend/microvm/files/machine-files.ts'
import type { ImageBackend } from '../image/image-backend.ts'
import type { ImageStore } from '../image/image-store.ts'

/** Where a kind of virtual machine has its files. */
export interface MachineRoot {
  readonly backend: ImageBackend
  readonly root: string
  readonly images: ImageStore
}

/** The directories of a root in which something can be left over. */
export function placesOf({ root, images }: MachineRoot): readonly TrashLocation[] {
  const places = [
    images.blobPlace,
    { root: images.root, parent: 'tags' },
    { root: images.root, parent: '.' },
    { root, parent: 'uppers' },
    { root, parent: 'instances' },
    { root, parent: 'snapshots' },
    { root, parent: '.' },
  ]
  const byPath = new Map(places.map((place) => [join(place.root, place.parent), place]))
  return [...byPath.values()]
}

/**
 * Runs work on what deletions have left in one of those directories, while none is under way that may give an entry its name back: the image
 * store does where a workspace wants the image meanwhile.
 */
export function whileNoneIsDeleted<T>(
  { images }: MachineRoot,
  place: TrashLocation,
  work: () => Promise<T>,
): Promise<T> {
  const { root, parent } = images.blobPlace
  return place.root === root && place.parent === parent ? images.exclusively(work) : work()
}

export function filesOf({ root }: MachineRoot): MachineFiles {
  return new MachineFiles(root)
}
