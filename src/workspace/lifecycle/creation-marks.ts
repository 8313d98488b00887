import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../lib/fs/ignore-missing.ts'
import { removeFileDurable, writeFileDurable } from '../../lib/fs/write-durable.ts'
import { BACKEND_NAMES } from '../backend-name.ts'
import type { BackendName } from '../backend-name.ts'
import { isWorkspaceName, nameKey } from '../name.ts'

/** A creation or a deletion that has begun and not ended; what it leaves is removed in either case. */
export interface CreationMark {
  readonly name: string
  readonly backend: BackendName
  /** Whether the volume must outlive it: it was there before the creation, or the deletion was asked to keep it. */
  readonly keepVolume: boolean
}

/**
 * Remembers on disk which creations and deletions are under way, so that what a killed server left half made or half
 * deleted is removed at its next start, and neither shows up as a workspace nor leaves files behind (fault F1).
 */
export class CreationMarks {
  readonly #directory: string

  constructor(stateDir: string) {
    this.#directory = join(stateDir, 'creating')
  }

  async add(mark: CreationMark): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    await writeFileDurable(this.#path(mark.name), JSON.stringify(mark), { mode: 0o600 })
  }

  async remove(name: string): Promise<void> {
    await removeFileDurable(this.#path(name)).catch(ignoreMissing)
  }

  /** What is marked under this name, or undefined. */
  async find(name: string): Promise<CreationMark | undefined> {
    return this.#read(nameKey(name))
  }

  async list(): Promise<readonly CreationMark[]> {
    const files = (await readdir(this.#directory).catch(ignoreMissing)) ?? []
    const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
    const marks = await Promise.all(names.filter(isWorkspaceName).map((name) => this.#read(name)))
    return marks.filter((mark) => mark !== undefined)
  }

  /** A mark that cannot be read still names its workspace; what it does not tell is taken the careful way. */
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
