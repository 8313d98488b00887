import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { removeFileDurable, writeFileDurable } from '../../lib/fs/write-durable.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import type { BackendName } from '../backend-name.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import { MARKS_DIR } from '../state-dir.ts'

/** An unfinished creation or deletion, whose remains are removed in either case. */
export interface CreationMark {
  readonly name: string
  readonly backend: BackendName
  /** Whether to keep the volume: it existed before the creation, or the deletion was asked to keep it. */
  readonly keepVolume: boolean
}

/**
 * Records unfinished creations and deletions on disk, so that a server removes the remains of a killed one at
 * its next start (fault F1).
 */
export class CreationMarks {
  readonly #directory: string

  constructor(stateDir: string) {
    this.#directory = join(stateDir, MARKS_DIR)
  }

  async add(mark: CreationMark): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    await writeFileDurable(this.#path(mark.name), JSON.stringify(mark), { mode: 0o600 })
  }

  async remove(name: string): Promise<void> {
    await removeFileDurable(this.#path(name)).catch(ignoreMissing)
  }

  /** Returns the mark of this name, or undefined. */
  async find(name: string): Promise<CreationMark | undefined> {
    return this.#read(nameKey(name))
  }

  async list(): Promise<readonly CreationMark[]> {
    const files = (await readdir(this.#directory).catch(ignoreMissing)) ?? []
    const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
    const marks = await Promise.all(names.filter(isWorkspaceName).map((name) => this.#read(name)))
    return marks.filter((mark) => mark !== undefined)
  }

  /**
   * Reads a mark. An unreadable one still names its workspace; its other fields default to the safe values.
   */
  async #read(name: string): Promise<CreationMark | undefined> {
    const unreadable: CreationMark = { name, backend: 'docker', keepVolume: true }
    try {
      const content: unknown = JSON.parse(await readFile(this.#path(name), 'utf8'))
      return isMark(content) && nameKey(content.name) === nameKey(name) ? content : unreadable
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : unreadable
    }
  }

  #path(name: string): string {
    return join(this.#directory, `${nameKey(name)}.json`)
  }
}

function isMark(value: unknown): value is CreationMark {
  if (typeof value !== 'object' || value === null) return false
  const { name, backend, keepVolume } = value as Record<string, unknown>
  return (
    typeof name === 'string' &&
    typeof keepVolume === 'boolean' &&
    BACKEND_NAMES.some((known) => known === backend)
  )
}
