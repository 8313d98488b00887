import { writingStore } from './read-slices.ts'

/** Task to delete slices. */
export interface DropTask {
  readonly storeDir: string
  readonly keys: readonly string[]
}

/**
 * Deletes slices from the store, so that new ones can use their space. @throws SCAN_FAILED when the disk is
 * full
 */
export async function dropSlices({ storeDir, keys }: DropTask): Promise<void> {
  await writingStore(storeDir).drop(keys)
}
