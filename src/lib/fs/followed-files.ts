import { stat } from 'node:fs/promises'
import type { AlarmClock } from '../clock/clock.ts'
import { ignore } from '../errors/ignore.ts'

const LOOK_EVERY_MS = 2_000

/** Called after a replacement: with the new value, or with the reason why the previous one is kept. */
interface Observer<T> {
  readonly onChange: (value: T) => void
  readonly onProblem: (error: unknown) => void
}

/**
 * Content of files that may be replaced while the program runs, such as a token, or a certificate and its key.
 * Files are compared every two seconds by their inode, size and time, which also notices replaced links and volumes
 * without events. Several files are read together once none has changed since the last comparison.
 */
export class FollowedFiles<T> {
  readonly #paths: readonly string[]
  readonly #read: () => Promise<T>
  #value: T
  /** State of the files at the last comparison, and when they were read. */
  #seen: string
  #known: string

  private constructor(paths: readonly string[], read: () => Promise<T>, value: T, state: string) {
    this.#paths = paths
    this.#read = read
    this.#value = value
    this.#seen = this.#known = state
  }

  /** Reads the files for the first time; throws what `read` throws. */
  static async open<T>(paths: readonly string[], read: () => Promise<T>): Promise<FollowedFiles<T>> {
    const state = await stateOf(paths)
    return new FollowedFiles(paths, read, await read(), state)
  }

  /** The result of the last read without an error. */
  get value(): T {
    return this.#value
  }

  /** Follows the files until the returned function is called. */
  follow(clock: AlarmClock, observer: Observer<T>): () => void {
    let hasEnded = false
    let cancel: (() => void) | undefined
    const lookLater = (): void => {
      if (!hasEnded) cancel = clock.after(LOOK_EVERY_MS, () => void this.#look(observer).then(lookLater))
    }
    lookLater()
    return () => {
      hasEnded = true
      cancel?.()
    }
  }

  async #look({ onChange, onProblem }: Observer<T>): Promise<void> {
    const state = await stateOf(this.#paths)
    const isSettled = state === this.#seen
    this.#seen = state
    if (!isSettled || state === this.#known) return
    this.#known = state
    try {
      this.#value = await this.#read()
      onChange(this.#value)
    } catch (error) {
      onProblem(error)
    }
  }
}

async function stateOf(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path) => {
    const found = await stat(path, { bigint: true }).catch(
      ignore('a missing file is a state, and reading it reports the reason'),
    )
    return found === undefined ? 'none' : `${found.dev} ${found.ino} ${found.size} ${found.mtimeNs}`
  })
  return (await Promise.all(states)).join()
}
