import type { Pty } from '../../native/programs/pty.ts'
import { fault } from '../errors.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { Terminal } from './terminal.ts'

/** The terminals of all processes that have one, by name. */
export class Terminals {
  readonly #terminals = new Map<string, Terminal>()

  /** Returns a process's terminal. @throws NO_TERMINAL when it has none */
  get({ name, hasTerminal }: ProcessSpec): Terminal {
    if (!hasTerminal || process.platform !== 'linux')
      throw fault(
        'NO_TERMINAL',
        `process "${name}" has no terminal; ${hasTerminal ? 'terminals require Linux' : 'set tty to true and reload'}`,
      )
    const terminal = this.#terminals.get(name) ?? new Terminal(name)
    this.#terminals.set(name, terminal)
    return terminal
  }

  /** Connects the terminal of a new run. */
  connect(spec: ProcessSpec, pty: Pty): void {
    this.get(spec).connect(pty)
  }

  remove(name: string): void {
    this.#terminals.get(name)?.close()
    this.#terminals.delete(name)
  }

  close(): void {
    for (const terminal of this.#terminals.values()) terminal.close()
    this.#terminals.clear()
  }
}
