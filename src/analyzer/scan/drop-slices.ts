import { writingStore } from './read-slices.ts'

export interface DropTask {
  readonly storeDir: string
  readonly keys: readonly string[]
}

/** Takes slices out of the store, whose room new ones then get. @throws SCAN_FAILED on a full disk */
export async function dropSlices({ storeDir, keys }: DropTask): Promise<void> {
  await writingStore(storeDir).drop(keys)
}
