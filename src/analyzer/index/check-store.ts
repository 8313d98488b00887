import { SliceStore } from './store.ts'

/**
 * Opens or creates the store and reads every entry. A damaged file kills the process (measured with lmdb
 * 3.5.6: a truncated or overwritten file causes SIGBUS or SIGSEGV more often than an error), so a pool
 * process opens it first.
 */
export async function checkStore(directory: string): Promise<void> {
  const store = SliceStore.open(directory, 'write')
  try {
    store.touchAll()
  } finally {
    await store.close()
  }
}
