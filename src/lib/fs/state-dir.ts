import { join } from 'node:path'
import { defineFaults, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { tryLock } from './file-lock.ts'
import { bringToFormat } from './format-file.ts'
import { makeDirs } from './make-dirs.ts'

const stateFault = defineFaults({ STATE_DIR_UNUSABLE: 'invalid' })

interface StateDirOptions<T> {
  /** Creates the error for a directory in use. */
  readonly taken: () => Error
  /** Called if locks are not available. */
  readonly unguarded: () => void
  /** Reads the directory's contents, creating them at the first start. */
  readonly read: () => Promise<T>
}

/**
 * Creates a program's state directory at the first start and locks it for one program at a time (fault F34).
 *
 * @throws `taken()` when it is in use, and STATE_DIR_UNUSABLE when it is not writable or has a newer format; the lock is then released
 */
export async function holdStateDir<T>(
  path: string,
  { taken, unguarded, read }: StateDirOptions<T>,
): Promise<{ readonly content: T; readonly release: () => Promise<void> }> {
  try {
    makeDirs(path, 0o700)
    const release = await tryLock(join(path, 'lock'), unguarded)
    if (release === 'taken') throw taken()
    try {
      await bringToFormat(path)
      return { content: await read(), release }
    } catch (error) {
      await release()
      throw error
    }
  } catch (error) {
    if (isFault(error)) throw error
    throw stateFault(
      'STATE_DIR_UNUSABLE',
      `state directory ${path} cannot be used: ${messageOf(error)}`,
      error,
    )
  }
}
