import { readFile } from 'node:fs/promises'
import { messageOf } from '../../../../lib/errors/message.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { KeyedLock } from '../../../../lib/process/keyed-lock.ts'
import { fault } from '../../../errors.ts'

/**
 * A file that records the identifiers of the engine's images that this server pulled. The others belong to
 * other users of the engine and are never deleted.
 */
export class PulledImages {
  readonly #file: string
  readonly #turns = new KeyedLock()

  constructor(file: string) {
    this.#file = file
  }

  /** Returns the recorded identifiers. @throws BACKEND_ERROR when the file cannot be read */
  async list(): Promise<ReadonlySet<string>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, 'utf8'))
      if (Array.isArray(value) && value.every((id) => typeof id === 'string')) return new Set(value)
      throw new Error('it is not a list of identifiers')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
      throw fault(
        'BACKEND_ERROR',
        `${this.#file} cannot be read (${messageOf(error)}), so the images that this server pulled are unknown; remove the file to start over`,
        error,
      )
    }
  }

  /**
   * Records an image that was pulled in place of `before`, or of none. An image that already existed stays
   * someone else's.
   */
  async add(id: string, before: string | undefined): Promise<void> {
    await this.#change((ids) => {
      if (before === undefined || (before !== id && ids.has(before))) ids.add(id)
    })
  }

  async remove(id: string): Promise<void> {
    await this.#change((ids) => ids.delete(id))
  }

  async #change(change: (ids: Set<string>) => void): Promise<void> {
    await this.#turns.run('file', async () => {
      const before = await this.list()
      const ids = new Set(before)
      change(ids)
      if (ids.size === before.size && [...ids].every((id) => before.has(id))) return
      await writeFileDurable(this.#file, `${JSON.stringify([...ids])}\n`, { mode: 0o600 })
    })
  }
}
