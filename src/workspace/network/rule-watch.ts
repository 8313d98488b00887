import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** One command of another program removes many rules. */
const SETTLE_MS = 20
const RESTART_MS = 10_000

/**
 * Reports when any program changes tables of this host, by a single `nft monitor`, which ends with this process.
 * Nothing is reported where that cannot be run, so the rules must be checked from time to time as well. Source: nft(8).
 */
export class RuleWatch {
  readonly #listeners = new Map<string, () => void>()
  readonly #changed = new Set<string>()
  #monitor: ChildProcess | undefined

  /** Calls the listener after a table was changed. Returns a function that unsubscribes. */
  watch(table: string, listener: () => void): () => void {
    this.#listeners.set(table, listener)
    if (this.#monitor === undefined) this.#start()
    return () => {
      if (this.#listeners.get(table) !== listener) return
      this.#listeners.delete(table)
      if (this.#listeners.size === 0) this.#monitor?.kill()
    }
  }

  #start(): void {
    const argv = ['--pdeathsig', 'TERM', 'nft', 'monitor']
    // Its directory is only in root's PATH.
    const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` }
    const monitor = spawn('setpriv', argv, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    this.#monitor = monitor
    monitor.unref()
    ;(monitor.stdout as Socket).unref()
    const ended = (): void => {
      if (this.#monitor !== monitor) return
      this.#monitor = undefined
      setTimeout(() => {
        if (this.#monitor === undefined && this.#listeners.size > 0) this.#start()
      }, RESTART_MS).unref()
    }
    monitor.once('error', ended).once('exit', ended)
    createInterface({ input: monitor.stdout }).on('line', (line) => this.#note(line))
  }

  /** Notes a line such as `insert rule inet TABLE CHAIN accept` or `delete table inet TABLE`. */
  #note(line: string): void {
    const [, table] = /^\w+ \w+ \w+ (\w+)/.exec(line) ?? []
    if (table === undefined || !this.#listeners.has(table)) return
    if (this.#changed.size === 0) setTimeout(() => this.#report(), SETTLE_MS).unref()
    this.#changed.add(table)
  }

  #report(): void {
    const changed = [...this.#changed]
    this.#changed.clear()
    for (const table of changed) this.#listeners.get(table)?.()
  }
}
