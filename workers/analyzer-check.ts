import { checkStore } from '../src/analyzer/index/check-store.ts'

/** Checks that the store can be opened and read; see checkStore. */
export default function analyzerCheck(task: { readonly storeDir: string }): Promise<void> {
  return checkStore(task.storeDir)
}
