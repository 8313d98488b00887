import { readFileSync } from 'node:fs'
import { writeFileDurable } from '../../lib/fs/write-durable.ts'

/** Hashes of archives by what tells that they have not changed, kept between starts. */
export class HashFile {
  readonly #file: string
  readonly #hashes: Record<string, string>
  #isChanged = false

  constructor(file: string) {
    this.#file = file
    this.#hashes = readHashes(file)
  }

  get all(): Readonly<Record<string, string>> {
    return this.#hashes
  }

  add(stamp: string, hash: string): void {
    this.#hashes[stamp] = hash
    this.#isChanged = true
  }

  async save(): Promise<void> {
    if (!this.#isChanged) return
    this.#isChanged = false
    // It only spares work: on a full disk it is left as it was.
    await writeFileDurable(this.#file, JSON.stringify(this.#hashes), { mode: 0o600 }).catch(() => undefined)
  }
}

function readHashes(file: string): Record<string, string> {
  try {
    return Object.assign(
      Object.create(null) as object,
      JSON.parse(readFileSync(file, 'utf8')) as object,
    ) as Record<string, string>
  } catch {
    return Object.create(null) as Record<string, string>
  }
}
