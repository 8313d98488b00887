import type { RunningProgram } from '../process/process-runner.ts'

/** Counts the requests that each program is processing, so that a replaced one can finish them. */
export class RequestsInProgress {
  readonly #counts = new Map<RunningProgram, number>()
  readonly #waiting = new Map<RunningProgram, () => void>()

  /** Counts a request to a program. Returns a function that ends it. */
  begin(program: RunningProgram): () => void {
    this.#counts.set(program, this.#of(program) + 1)
    return () => {
      const left = this.#of(program) - 1
      if (left > 0) this.#counts.set(program, left)
      else this.#end(program)
    }
  }

  /** Resolves when a program that gets no further requests has finished all. */
  drained(program: RunningProgram): Promise<void> {
    if (this.#of(program) === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.set(program, resolve))
  }

  #end(program: RunningProgram): void {
    this.#counts.delete(program)
    this.#waiting.get(program)?.()
    this.#waiting.delete(program)
  }

  #of(program: RunningProgram): number {
    return this.#counts.get(program) ?? 0
  }
}
