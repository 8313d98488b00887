import { SliceStore } from './store.ts'

/**
 * Opens the store and touches all that it holds, making it where there is none. A damaged file ends the process that does so
 * (measured with lmdb 3.5.6: truncated or overwritten, it is SIGBUS or SIGSEGV more often than an error), which is why a
 * pool's process is the first to do it.
 */
export async function checkStore(directory: string): Promise<void> {
  const store = SliceStore.open(directory, 'write')
  try {
    store.touchAll()
  } finally {
    await store.close()
  }
}
