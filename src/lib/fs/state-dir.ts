import { join } from 'node:path'
import { defineFaults, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { tryLock } from './file-lock.ts'
import { bringToFormat } from './format-file.ts'
import { makeDirs } from './make-dirs.ts'

const stateFault = defineFaults({ STATE_DIR_UNUSABLE: 'invalid' })

interface StateDirOptions<T> {
  /** What is thrown while another holds the directory. */
  readonly taken: () => Error
  /** Called where nothing can keep another away. */
  readonly unguarded: () => void
  /** Reads, or on the first start makes, what the program needs of it; throws where that cannot be. */
  readonly read: () => Promise<T>
}

/**
 * Makes a program's own directory on its first start, and holds it: one program at a time (fault F34).
 *
 * @throws what `taken` says while another has it, and STATE_DIR_UNUSABLE when it cannot be written or a newer version wrote it; it is then free again
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
