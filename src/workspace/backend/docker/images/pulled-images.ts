import { readFile } from 'node:fs/promises'
import { messageOf } from '../../../../lib/errors/message.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { KeyedLock } from '../../../../lib/process/keyed-lock.ts'
import { fault } from '../../../errors.ts'

/**
 * The engine's images that this server has brought there, by their identifiers, in a file: the others are somebody else's, and
 * none of ours to delete.
 */
export class PulledImages {
  readonly #file: string
  readonly #turns = new KeyedLock()

  constructor(file: string) {
    this.#file = file
  }

  /** @throws BACKEND_ERROR where that cannot be told */
  async list(): Promise<ReadonlySet<string>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, 'utf8'))
      if (Array.isArray(value) && value.every((id) => typeof id === 'string')) return new Set(value)
      throw new Error('it is no list of identifiers')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
      throw fault(
        'BACKEND_ERROR',
        `${this.#file} cannot be used (${messageOf(error)}): which of the engine's images this server has pulled cannot be told; remove the file to begin anew`,
        error,
      )
    }
  }

  /** Notes an image that was brought in place of `before`, or of none. An image that was there already stays somebody else's. */
  async add(id: string, before: string | undefined): Promise<void> {
    await this.#change((known) => {
      if (before === undefined || (before !== id && known.has(before))) known.add(id)
    })
  }

  async remove(id: string): Promise<void> {
    await this.#change((known) => known.delete(id))
  }

  async #change(change: (known: Set<string>) => void): Promise<void> {
    await this.#turns.run('file', async () => {
      const before = await this.list()
      const known = new Set(before)
      change(known)
      if (known.size === before.size && [...known].every((id) => before.has(id))) return
      await writeFileDurable(this.#file, `${JSON.stringify([...known])}\n`, { mode: 0o600 })
    })
  }
}
