import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import type { ExecProcess } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'

/** Time for programs that were hung up to remove their temporary files. */
const END_MS = 5_000

/**
 * Programs that write files, by workspace. They end before a workspace stops: the stop kills its programs, and a
 * killed one leaves its temporary file behind.
 */
export class OpenWrites {
  readonly #endMs: number
  readonly #programs = new Map<string, Set<Promise<ExecProcess>>>()
  readonly #closed = new Set<string>()

  /** @param endMs how long a stop waits for programs that were hung up */
  constructor(endMs = END_MS) {
    this.#endMs = endMs
  }

  /**
   * Starts a program and remembers it until it has exited, even if nobody waits for it any longer.
   *
   * @throws WORKSPACE_NOT_RUNNING while the workspace is being stopped, and what `start` throws
   */
  start(name: string, start: () => Promise<ExecProcess>): Promise<ExecProcess> {
    const key = nameKey(name)
    if (this.#closed.has(key)) throw fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" is being stopped`)
    const program = start()
    const programs = this.#programs.get(key) ?? new Set()
    this.#programs.set(key, programs.add(program))
    const forget = (): void => {
      programs.delete(program)
      if (programs.size === 0) this.#programs.delete(key)
    }
    void program.then(({ exitStatus }) => exitStatus).then(forget, forget)
    return program
  }

  /** Ends all writes of a workspace, then runs `work`, during which no write starts. */
  async whileClosed<T>(name: string, work: () => Promise<T>): Promise<T> {
    const key = nameKey(name)
    this.#closed.add(key)
    try {
      await endWithin(this.#endMs, [...(this.#programs.get(key) ?? [])])
      return await work()
    } finally {
      this.#closed.delete(key)
    }
  }
}

/** Hangs up programs, and waits for them at most for a time. */
async function endWithin(limitMs: number, programs: readonly Promise<ExecProcess>[]): Promise<void> {
  const ended = new AbortController()
  const ends = programs.map(async (starting) => {
    const program = await starting
    await program.hangUp()
    await program.exitStatus
  })
  const overdue = delay(limitMs, undefined, { signal: ended.signal }).catch(ignore('all have ended'))
  await Promise.race([Promise.allSettled(ends), overdue])
  ended.abort()
}
