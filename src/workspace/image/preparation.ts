import { lockFile, tryLock } from '../../lib/fs/file-lock.ts'

/** Keeps apart those who prepare images in a store, in this process and others, and those who clear away what is left of that. */
export class Preparation {
  readonly #lock: string

  constructor(lock: string) {
    this.#lock = lock
  }

  /** Runs what prepares an image, from its first file to its tag; nothing is cleared away meanwhile. */
  async during<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await lockFile(this.#lock, { kind: 'shared', signal })
    try {
      return await work()
    } finally {
      await release()
    }
  }

  /** Runs what clears away while nobody prepares an image; undefined while somebody does. */
  async whileNone<T>(work: () => Promise<T>): Promise<T | undefined> {
    const release = await tryLock(this.#lock, () => undefined)
    if (release === 'taken') return undefined
    try {
      return await work()
    } finally {
      await release()
    }
  }
}
